/**
 * What was said before the process ends. A pipe whose reader is slow takes lines later than they are written, and
 * `process.exit` does not wait for them (https://nodejs.org/docs/latest-v24.x/api/process.html#a-note-on-process-io).
 */
import type { Writable } from 'node:stream'

type Stream = Pick<Writable, 'writableLength' | 'write'>

/** Whether their readers have all of it. */
export const isAllSaid = (streams: readonly Stream[]): boolean => streams.every(stream => stream.writableLength === 0)

/** Resolves when readers have all of it, or have gone. */
export const allSaid = async (streams: readonly Stream[]): Promise<void> => {
  await Promise.all(
    streams
      .filter(stream => stream.writableLength > 0)
      .map(stream => new Promise<void>(resolve => void stream.write('', () => resolve()))),
  )
}

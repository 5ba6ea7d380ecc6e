/** The bytes of a file on their way in, a body or one part of a form; here as a stream. */
import type { Readable } from 'node:stream'
import { md5 } from '../../native/receive/receive.ts'
import { consume } from './consume.ts'
import { createFileSink } from './file-sink.ts'

export interface Incoming {
  /**
   * Writes at most `room` bytes at `position` of `fd`; the next call goes on after them, until `ended`. Nothing uses `fd`
   * any more when it fails.
   */
  writeTo(fd: number, position: number, room: number): Promise<{ readonly bytes: number; readonly ended: boolean }>
  /** 32 hex digits: MD5 of what was written. Once, after the end, when hashing was asked for. */
  digest(): string
}

class NoRoom extends Error {}

/** Content that comes as a stream; hashed on the main thread. */
export const streamContent = (source: Readable, hashing: boolean): Incoming => {
  const hash = hashing ? md5() : undefined
  let over: Buffer | undefined
  return {
    async writeTo(fd, position, room) {
      const sink = createFileSink(fd, position)
      const take = (chunk: Buffer): Promise<void> | undefined => {
        const fits = chunk.subarray(0, Math.min(chunk.length, room - sink.bytes))
        hash?.update(fits)
        const writing = sink.write(fits)
        if (fits.length === chunk.length) return writing
        over = chunk.subarray(fits.length)
        // `finish` reports a write that fails.
        writing?.catch(() => {})
        throw new NoRoom()
      }
      let ended = true
      try {
        const rest = over
        over = undefined
        if (rest) await take(rest)
        await consume(source, take)
      } catch (error) {
        if (!(error instanceof NoRoom)) {
          await sink.settle()
          throw error
        }
        ended = false
      }
      try {
        await sink.finish()
      } catch (error) {
        await sink.settle()
        throw error
      }
      return { bytes: sink.bytes, ended }
    },
    digest: () => hash?.digest() ?? '',
  }
}

/**
 * The bytes of a file on their way in: a body or one part of a form. Large ones of a plain connection go from the
 * socket into the file on a thread of their own, past the streams; all others come as a stream.
 */
import type { Readable } from 'node:stream'
import { fail } from '../../shared/errors.ts'
import { takeBody } from '../../shared/http/take-body.ts'
import { md5, transfer, type Run } from '../native/receive.ts'
import { fileSink, pour } from './sink.ts'

export interface Incoming {
  /**
   * Writes at most `room` bytes at `position` of `fd`; the next call goes on behind them, until `ended`. Nothing uses
   * `fd` any more when it fails.
   */
  writeTo(fd: number, position: number, room: number): Promise<{ readonly bytes: number; readonly ended: boolean }>
  /** 32 hex digits: MD5 of what was written. Once, after the end, when hashing was asked for. */
  digest(): string
}

/** Bytes still to come below which a stream is as fast. */
export const leastToReceive = 512 * 1024

class Full extends Error {}

/** Content that comes as a stream; hashed on the main thread. */
export const streamed = (source: Readable, hashing: boolean): Incoming => {
  const hash = hashing ? md5() : undefined
  let over: Buffer | undefined
  return {
    async writeTo(fd, position, room) {
      const sink = fileSink(fd, position)
      const take = (chunk: Buffer): Promise<void> | undefined => {
        const fits = chunk.subarray(0, Math.min(chunk.length, room - sink.bytes))
        hash?.update(fits)
        const writing = sink.write(fits)
        if (fits.length === chunk.length) return writing
        over = chunk.subarray(fits.length)
        // A write that fails is told by `finish`.
        writing?.catch(() => {})
        throw new Full()
      }
      let ended = true
      try {
        const rest = over
        over = undefined
        if (rest) await take(rest)
        await pour(source, take)
      } catch (error) {
        if (!(error instanceof Full)) {
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

export interface Received {
  readonly incoming: Incoming
  /** All of the content is written. */
  readonly ended: Promise<void>
  /** The body goes on as a stream; resolves with what was read of it behind the content, and how much was taken. */
  release(): Promise<{ readonly behind: Buffer; readonly taken: number }>
}

export interface Wanted {
  /** Bytes of the body read so far, `ahead` included. */
  readonly taken: number
  /** Of those, the ones that belong to the content. */
  readonly ahead: Buffer
  /** Ends the content; undefined: it goes on to the end of the body. */
  readonly delimiter: Buffer | undefined
  readonly hashing: boolean
}

/** Takes the body over, which must be paused with nothing listening; undefined, and nothing changed, when it cannot be. */
export const receive = (body: Readable, { taken: before, ahead, delimiter, hashing }: Wanted): Received | undefined => {
  const taken = takeBody(body, before, leastToReceive)
  if (!taken) return undefined
  const all = Buffer.concat([ahead, taken.ahead])
  const moving = transfer({ socket: taken.fd, left: taken.left, ahead: all, delimiter, hashing })
  if (!moving) {
    taken.giveBack(0)
    if (taken.ahead.length > 0) body.unshift(taken.ahead)
    return undefined
  }
  taken.onClose(moving.cancel)
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  let running: Promise<Run> | undefined
  return {
    ended,
    incoming: {
      async writeTo(fd, position, room) {
        running = moving.run(fd, position, room)
        const { outcome, written } = await running
        if (outcome === 'end' && delimiter) throw fail('invalid_body', { reason: 'Unexpected end of form' })
        if (outcome !== 'full') end()
        return { bytes: written, ended: outcome !== 'full' }
      },
      digest: moving.digest,
    },
    async release() {
      moving.cancel()
      await running?.catch(() => {
        // Told to whoever writes.
      })
      const { left, ahead: behind } = moving.finish()
      taken.giveBack(taken.left - left)
      return { behind, taken: taken.ahead.length + taken.left - left }
    },
  }
}

/** Writes a whole body; resolves with its bytes. Nothing uses `fd` any more when it fails. */
export const writeBody = async (body: Readable, fd: number): Promise<number> => {
  // Not in the turn in which the request is announced, whatever the caller does before.
  await Promise.resolve()
  const received = receive(body, { taken: 0, ahead: Buffer.alloc(0), delimiter: undefined, hashing: false })
  const content = received?.incoming ?? streamed(body, false)
  try {
    return (await content.writeTo(fd, 0, Infinity)).bytes
  } finally {
    await received?.release()
  }
}

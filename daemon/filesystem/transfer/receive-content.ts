/** Large content on a plain connection goes from the socket into the file on a thread of our own, past Node's streams. */
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fail } from '../../../shared/errors.ts'
import { transfer, type Run } from '../../native/receive/receive.ts'
import type { BodyDetacher } from '../../node-internals/detach-body.ts'
import { streamContent, type Incoming } from './incoming.ts'

/** With fewer bytes still to come a stream is as fast. */
export const minDetachBytes = 512 * 1024

export interface Received {
  readonly incoming: Incoming
  /** All of the content is written. */
  readonly ended: Promise<void>
  /** The body goes on as a stream. Resolves with the bytes after the content that were read already, and how many were taken. */
  release(): Promise<{ readonly remainder: Buffer; readonly taken: number }>
}

interface Wanted {
  /** Bytes of the body read so far, `ahead` included. */
  readonly taken: number
  /** Of those, the ones that belong to the content. */
  readonly ahead: Buffer
  /** Ends the content; undefined: it goes on to the end of the body. */
  readonly delimiter: Buffer | undefined
  readonly hashing: boolean
}

/** Takes the body over, which must be paused with nothing listening; undefined, and nothing changed, when it cannot be. */
export const receiveContent = (
  detacher: BodyDetacher,
  body: Readable,
  { taken: before, ahead, delimiter, hashing }: Wanted,
): Received | undefined => {
  const taken = detacher.detach(body, before, minDetachBytes)
  if (!taken) return undefined
  const all = Buffer.concat([ahead, taken.ahead])
  const { fd: socket, left: total, chunk } = taken
  const moving = transfer({ socket, left: total, chunk, ahead: all, delimiter, hashing })
  if (!moving) {
    taken.reattach({ left: total, ...(chunk ? { chunk: { ...chunk, raw: Buffer.alloc(0) } } : {}) })
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
        // `writeTo` reports it.
      })
      const { ahead: remainder, ...finished } = moving.finish()
      taken.reattach(finished)
      return { remainder, taken: taken.ahead.length + total - finished.left }
    },
  }
}

/** Writes a whole body; resolves with its bytes. Nothing uses `fd` any more when it fails. */
export const writeBody = async (detacher: BodyDetacher, body: Readable, fd: number): Promise<number> => {
  // A body cannot be detached in the turn of the event loop in which its request arrives.
  await (detacher.needsTurn(body) ? nextTurn() : undefined)
  const received = receiveContent(detacher, body, {
    taken: 0,
    ahead: Buffer.alloc(0),
    delimiter: undefined,
    hashing: false,
  })
  const content = received?.incoming ?? streamContent(body, false)
  try {
    return (await content.writeTo(fd, 0, Infinity)).bytes
  } finally {
    await received?.release()
  }
}

/** The body of a request to a model: kept where it is JSON, so that it can be sent again, and a stream where it is a file. */
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { fail } from '../../../shared/errors.ts'

/** Bytes of one request. */
const mostBytes = 50 * 1024 * 1024

/** Bytes of all requests that are kept at the same time. */
const mostKept = 512 * 1024 * 1024

export interface Bodies {
  /** Calls `release` when it is needed no more. Throws `payload_too_large`, and `models_busy` while others keep too much. */
  read(request: IncomingMessage, signal: AbortSignal): Promise<{ body: Buffer | Readable | null; release: () => void }>
}

const tooLarge = () => fail('payload_too_large', { limit: mostBytes })

const lengthOf = ({ headers }: IncomingMessage): number | undefined => {
  const length = headers['content-length']
  return length === undefined ? undefined : Number(length)
}

const isEmpty = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] === undefined && (lengthOf(request) ?? 0) === 0

/** JSON, or nothing that says what it is; a body that is coded is not looked into. */
const isKept = ({ headers }: IncomingMessage): boolean =>
  headers['content-encoding'] === undefined && /^$|json/i.test(headers['content-type'] ?? '')

async function* limited(request: IncomingMessage): AsyncGenerator<Buffer> {
  let size = 0
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length
    if (size > mostBytes) throw tooLarge()
    yield piece
  }
}

const nothing = () => {}

export const createBodies = (most = mostKept): Bodies => {
  let kept = 0
  const keep = (bytes: number): void => {
    if (kept + bytes > most) throw fail('models_busy', { retryAfterS: 1 })
    kept += bytes
  }
  return {
    async read(request, signal) {
      if (isEmpty(request)) return { body: null, release: nothing }
      if ((lengthOf(request) ?? 0) > mostBytes) throw tooLarge()
      if (!isKept(request)) return { body: Readable.from(limited(request), { objectMode: false }), release: nothing }
      let own = 0
      const release = () => {
        kept -= own
        own = 0
      }
      try {
        const pieces: Buffer[] = []
        for await (const piece of limited(request)) {
          keep(piece.length)
          own += piece.length
          pieces.push(piece)
          signal.throwIfAborted()
        }
        return { body: pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces), release }
      } catch (error) {
        release()
        throw error
      }
    },
  }
}

import { isAscii } from 'node:buffer'
import type { Readable } from 'node:stream'
import { fail } from '../errors.ts'
import type { Request } from '../route.ts'

/**
 * Reads a whole body of at most `limit` bytes; throws `payload_too_large` beyond it. The server drains the rest:
 * destroying the request would destroy the parser of its connection. Uses events because most bodies are one small chunk, for
 * which an async iterator costs more than everything else.
 */
export const readBody = (body: Readable, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let size = 0
    const stop = (): void => {
      body.off('data', take).off('end', end).off('error', failed).off('close', closed)
    }
    const take = (piece: Buffer | string): void => {
      const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
      size += bytes.length
      if (size <= limit) return void pieces.push(bytes)
      body.pause()
      failed(fail('payload_too_large', { limit }))
    }
    const end = (): void => {
      stop()
      resolve(pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces, size))
    }
    const failed = (error: unknown): void => {
      stop()
      reject(error)
    }
    const closed = (): void => failed(body.errored ?? new Error('the body ended before it was whole'))
    if (body.readableEnded) return end()
    if (body.destroyed) return closed()
    body.on('end', end).on('error', failed).on('close', closed).on('data', take)
  })

/** The same of a request, which may have it already. */
export const bodyOf = async (request: Pick<Request, 'whole' | 'body'>, limit: number): Promise<Buffer> => {
  const { whole } = request
  // Asking for `body` makes a stream.
  if (!whole) return readBody(request.body, limit)
  if (whole.length > limit) throw fail('payload_too_large', { limit })
  return whole
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Parses a JSON body; an empty one is undefined. Throws `invalid_body`. */
export const parseJson = (bytes: Buffer): unknown => {
  if (bytes.length === 0) return undefined
  try {
    // The decoder makes two-byte strings, even where one byte per character would do.
    return JSON.parse(isAscii(bytes) ? bytes.toString('latin1') : utf8.decode(bytes))
  } catch (error) {
    throw fail('invalid_body', { reason: error instanceof SyntaxError ? 'not JSON' : 'not UTF-8' }, error)
  }
}

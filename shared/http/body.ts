import type { Readable } from 'node:stream'
import { fail } from '../errors.ts'

/** Reads a whole body of at most `limit` bytes; throws `payload_too_large` beyond it. */
export const readBody = async (body: Readable, limit: number): Promise<Buffer> => {
  const pieces: Buffer[] = []
  let size = 0
  // What is left after a limit is the server's to drain: a destroyed request would take its connection's parser along.
  for await (const piece of body.iterator({ destroyOnReturn: false })) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : (piece as Buffer)
    size += bytes.length
    if (size > limit) throw fail('payload_too_large', { limit })
    pieces.push(bytes)
  }
  return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces, size)
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Parses a JSON body; an empty one is undefined. Throws `invalid_body`. */
export const parseJson = (bytes: Buffer): unknown => {
  if (bytes.length === 0) return undefined
  try {
    return JSON.parse(utf8.decode(bytes))
  } catch (error) {
    throw fail('invalid_body', { reason: error instanceof SyntaxError ? 'not JSON' : 'not UTF-8' }, error)
  }
}

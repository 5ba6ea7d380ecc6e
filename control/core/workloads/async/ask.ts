/** One call of a server, by the host itself: little of the answer is kept, whatever it says. */
import type { Dispatcher } from 'undici'
import type { Connections, Destination } from '../../channel/connections.ts'
import { upstreamFailed } from '../../channel/unanswered.ts'
import type { Answer, StoredCall } from './stored.ts'

/** Bytes of an answer that are kept. */
const mostBytes = 256 * 1024

/** Headers of a stored call with the length of its body. */
const headersOf = (headers: readonly string[], body: Buffer): string[] => {
  const kept: string[] = []
  for (let at = 0; at < headers.length; at += 2)
    if (headers[at] !== 'content-length') kept.push(headers[at] as string, headers[at + 1] as string)
  return body.length > 0 ? [...kept, 'content-length', String(body.length)] : kept
}

/** Throws `upstream_failed`, `upstream_malformed`, or the signal's reason. */
export const ask = async (
  connections: Connections,
  to: Destination,
  { method, target, headers }: StoredCall,
  body: Buffer,
  signal: AbortSignal,
): Promise<Answer> => {
  try {
    const { statusCode, body: answered } = await connections.pool(to).request({
      path: target,
      method: method as Dispatcher.HttpMethod,
      headers: headersOf(headers, body),
      body: body.length > 0 ? body : null,
      signal,
    })
    const pieces: Buffer[] = []
    let length = 0
    for await (const piece of answered as AsyncIterable<Buffer>) {
      if (length < mostBytes) pieces.push(piece.subarray(0, mostBytes - length))
      length += piece.length
    }
    return { status: statusCode, body: Buffer.concat(pieces).toString('utf8'), length }
  } catch (error) {
    signal.throwIfAborted()
    throw upstreamFailed(error, to.port ?? to.address.port)
  }
}

/** Writes replies, and deals with request bodies that nobody has read. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errno } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Pump, Reply } from '../route.ts'

const leaving: ReadonlySet<string> = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'])

/** The status line is sent: cutting the connection is the only way left to say that the body is incomplete. */
const cutOff = (out: Writable, error: unknown, clientLeft: boolean, log: Log): void => {
  if (!clientLeft) log.warn('reply.cut', { error })
  out.destroy()
}

/** Writes the body piece by piece, and ends the answer. */
export const pumpTo = async (out: Writable, body: Pump, signal: AbortSignal, log: Log): Promise<void> => {
  try {
    await body(out, signal)
    out.end()
  } catch (error) {
    cutOff(out, error, signal.aborted, log)
  }
}

/** Writes the reply; resolves when it is written or its connection was cut. */
export const send = async (reply: Reply, response: ServerResponse, signal: AbortSignal, log: Log): Promise<void> => {
  const { status, headers, body, cookies } = reply
  if (cookies.length > 0) response.setHeader('set-cookie', [...cookies])
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    const length = body === undefined ? 0 : Buffer.byteLength(body)
    const bare = status === 204 || status === 304 || (status >= 100 && status < 200)
    response.writeHead(
      status,
      bare || 'content-length' in headers ? headers : { ...headers, 'content-length': String(length) },
    )
    response.end(body)
    return
  }
  response.writeHead(status, headers)
  response.flushHeaders()
  if (!(body instanceof Readable)) return pumpTo(response, body, signal, log)
  await pipeline(body, response).catch((error: unknown) => {
    // `pipeline` has closed the response by now, so the signal does not tell which side ended first.
    cutOff(response, error, leaving.has(errno(error) ?? ''), log)
  })
}

/** An unread body: drains a small rest so that the connection can be used again, cuts a large one. */
export const drain = (message: IncomingMessage): void => {
  if (message.complete || message.destroyed) return
  let left = 1024 * 1024
  message.on('data', (piece: Buffer) => {
    left -= piece.length
    if (left < 0) message.destroy()
  })
  message.resume()
}

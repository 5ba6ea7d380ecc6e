/** An answer written by hand on a socket that Node's parser has let go, as after an upgrade request. */
import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

export interface RawAnswer {
  readonly status: number
  /** Reason phrase; that of the status unless given. */
  readonly reason?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Answers and closes; a socket that cannot be written to any more is only closed. */
export const endRaw = (socket: Duplex, { status, reason, headers = {}, body = '' }: RawAnswer): void => {
  if (!socket.writable) return void socket.destroy()
  const all = { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  socket.end(`HTTP/1.1 ${status} ${reason ?? STATUS_CODES[status] ?? ''}\r\n${lines.join('\r\n')}\r\n\r\n${body}`)
}

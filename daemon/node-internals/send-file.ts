/** Sends the bytes of a file past Node's stream, from the page cache to the socket. */
import { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { sendFile } from '../native/send/send.ts'
import type { Connection } from './connection.ts'

/**
 * Sends `count` bytes of `fd` from `from` on as the next bytes of a body with a length, and resolves with how many it sent; what is left
 * the caller sends itself. Throws when the client has gone. `fd` must stay open until it has settled.
 */
export type FileSender = (
  out: Writable,
  part: { readonly fd: number; readonly from: number; readonly count: number },
  signal: AbortSignal,
) => Promise<number>

/** For less, a thread is not worth it. */
const minBytes = 256 * 1024

const flushed = (socket: Connection): Promise<void> =>
  new Promise((resolve, reject) => void socket.write('', error => (error ? reject(error) : resolve())))

/** The connection, when the answer's bytes go there as they are and it is this answer's turn. */
const plainConnection = (out: Writable): Connection | undefined => {
  if (!(out instanceof ServerResponse) || out.chunkedEncoding || out.req.method === 'HEAD') return undefined
  const socket = out.socket as Connection | null
  return !socket || socket.destroyed || 'encrypted' in socket ? undefined : socket
}

const gone = () => new Error('the client went away')

const send: FileSender = async (out, { fd, from, count }, signal) => {
  const socket = count < minBytes ? undefined : plainConnection(out)
  if (!socket) return 0
  // What Node still has to write goes first.
  if (socket.writableLength > 0) await flushed(socket)
  const handle = socket._handle?.fd ?? -1
  if (signal.aborted || socket.destroyed) throw gone()
  const sending = handle < 0 ? undefined : sendFile(handle, fd, from, count)
  if (!sending) return 0
  signal.addEventListener('abort', sending.cancel, { once: true })
  const { sent, isGone } = await sending.ended
  signal.removeEventListener('abort', sending.cancel)
  if (isGone || signal.aborted) throw gone()
  return sent
}

/** When it is off nothing is sent: the caller sends everything. */
export const createFileSender = (enabled: boolean): FileSender => (enabled ? send : async () => 0)

/**
 * Lets the caller read a part of a request's body directly from its socket, past Node's stream and parser. Afterwards
 * the parser is told how many bytes it did not see, so that the connection stays in use and the next request begins
 * after the body.
 */
import { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'

interface DetachedBody {
  /** Descriptor of the socket; it must not be used after `onClose`. */
  readonly fd: number
  /** The bytes of the body that Node has read and nobody has consumed: they come first. */
  readonly ahead: Buffer
  /** Bytes of the body that are still in the socket. */
  readonly left: number
  /** Runs when the connection is closed meanwhile. */
  onClose(listener: () => void): void
  /** Continues the body as a stream after `count` bytes that were read from the socket. Call it once. */
  reattach(count: number): void
}

/** The parts of Node's connection without a public interface. */
interface Connection extends Socket {
  readonly _handle?: { readonly fd?: number } | null
  readonly _paused?: boolean
  readonly parser?: {
    [callback: number]: unknown
    readonly incoming?: unknown
    readonly constructor: { kOnBody?: number }
  }
}

/** The bytes that the parser counts. Nothing reads them, so their pages are never touched and take no memory. */
const nothing = Buffer.alloc(1024 * 1024)

/** Makes the parser count bytes that it did not see, without the callback that would copy each of them. */
const skip = (socket: Connection, slot: number, count: number): void => {
  const { parser } = socket
  if (!parser) return
  const callback = parser[slot]
  parser[slot] = undefined
  try {
    for (let left = count; left > 0 && !socket.destroyed; left -= nothing.length)
      socket.emit('data', left < nothing.length ? nothing.subarray(0, left) : nothing)
  } finally {
    parser[slot] = callback
  }
}

/** How many bytes of the body follow the first `taken`; undefined when the length of the body is unknown. */
const remaining = (message: IncomingMessage, taken: number): number | undefined => {
  const { 'content-length': length, 'transfer-encoding': encoding } = message.headers
  return length === undefined || encoding !== undefined ? undefined : Number(length) - taken - message.readableLength
}

/** Whether a body is long enough to be detached, by the request's headers. */
const mayDetach = (body: Readable, minBytes: number): boolean =>
  body instanceof IncomingMessage && (remaining(body, 0) ?? 0) >= minBytes

const detach = (body: Readable, taken: number, minBytes: number): DetachedBody | undefined => {
  if (!(body instanceof IncomingMessage) || body.destroyed || body.complete) return undefined
  const socket = body.socket as Connection
  const left = remaining(body, taken) ?? 0
  const fd = socket._handle?.fd ?? -1
  const { parser } = socket
  const slot = parser?.constructor.kOnBody
  // Encrypted: the socket's bytes are not the body's. Paused: Node holds back requests until earlier answers are read.
  if (left < Math.max(minBytes, 1) || fd < 0 || socket.destroyed || 'encrypted' in socket || socket._paused)
    return undefined
  if (socket.readableLength > 0 || slot === undefined || typeof parser?.[slot] !== 'function') return undefined
  if (parser.incoming !== body) return undefined
  // Reading from the body, as below, resumes the socket.
  const stop = () => void socket.pause()
  socket.on('resume', stop)
  stop()
  const closers: (() => void)[] = []
  const closed = () => {
    for (const listener of closers) listener()
  }
  socket.on('close', closed)
  return {
    fd,
    ahead: (body.read() as Buffer | null) ?? Buffer.alloc(0),
    left,
    onClose: listener => void closers.push(listener),
    reattach(count) {
      socket.off('resume', stop).off('close', closed)
      if (socket.destroyed) return
      skip(socket, slot, count)
      socket.resume()
    },
  }
}

export interface BodyDetacher {
  /** Whether `detach` may succeed, by the request's headers. */
  mayDetach(body: Readable, minBytes: number): boolean
  /**
   * Stops Node from reading; `taken` says how much of the body was consumed so far. The body must be paused, without a
   * listener for data, and the bytes that came together with the head must be delivered, as they are after the turn of
   * the event `request`. Returns undefined, and changes nothing, when this is not the body of a request on a plain
   * connection, or when fewer than `minBytes` bytes are still to come.
   */
  detach(body: Readable, taken: number, minBytes: number): DetachedBody | undefined
}

/** When it is off nothing is detached: every body comes as a stream. */
export const createBodyDetacher = (enabled: boolean): BodyDetacher =>
  enabled ? { mayDetach, detach } : { mayDetach: () => false, detach: () => undefined }

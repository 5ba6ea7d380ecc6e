/**
 * Lets the caller read a part of a request's body directly from its socket, past Node's stream and parser. Afterwards
 * the parser is told how many bytes it did not see, so that the connection stays in use and the next request begins
 * after the body.
 */
import { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import type { ChunkPlace, Finished } from '../native/receive/receive.ts'
import { followChunks, skipBytes } from './catch-up.ts'
import { isTracked, observeRequests, placeOf, stopTracking } from './chunked-bodies.ts'
import type { Connection } from './connection.ts'

interface DetachedBody {
  /** Descriptor of the socket; it must not be used after `onClose`. */
  readonly fd: number
  /** The bytes of the body that Node has read and nobody has consumed: they come first. */
  readonly ahead: Buffer
  /** Bytes of the body that are still in the socket; 1 of a body in chunks. */
  readonly left: number
  /** Where in its chunks the body goes on; undefined: it has a length. */
  readonly chunk: ChunkPlace | undefined
  /** Runs when the connection is closed meanwhile. */
  onClose(listener: () => void): void
  /** Continues the body as a stream after what was read from the socket. Call it once. */
  reattach(finished: Omit<Finished, 'ahead'>): void
}

/** How many bytes of the body follow the first `taken`; undefined when the length of the body is unknown. */
const remaining = (message: IncomingMessage, taken: number): number | undefined => {
  const { 'content-length': length, 'transfer-encoding': encoding } = message.headers
  return length === undefined || encoding !== undefined ? undefined : Number(length) - taken - message.readableLength
}

/** Whether a body is long enough to be detached, by the request's headers. One in chunks could be of any length. */
const mayDetach = (body: Readable, minBytes: number): boolean =>
  body instanceof IncomingMessage && (isTracked(body) || (remaining(body, 0) ?? 0) >= minBytes)

/** The slot of the callback for the body, when this connection can be read past its parser. */
const slotOf = (socket: Connection, body: IncomingMessage): number | undefined => {
  const { parser } = socket
  const slot = parser?.constructor.kOnBody
  // Encrypted: the socket's bytes are not the body's. Paused: Node holds back requests until earlier answers are read.
  if (socket.destroyed || 'encrypted' in socket || socket._paused || socket.readableLength > 0) return undefined
  return slot === undefined || typeof parser?.[slot] !== 'function' || parser.incoming !== body ? undefined : slot
}

/** Keeps Node from reading, also where a read from the body would resume the socket. */
const hold = (socket: Connection, closed: () => void): (() => void) => {
  const stop = () => void socket.pause()
  socket.on('resume', stop).on('close', closed)
  stop()
  return () => void socket.off('resume', stop).off('close', closed)
}

const detach = (body: Readable, taken: number, minBytes: number): DetachedBody | undefined => {
  if (!(body instanceof IncomingMessage) || body.destroyed || body.complete) return undefined
  const socket = body.socket as Connection
  const chunk = placeOf(body, taken)
  const left = chunk ? 1 : (remaining(body, taken) ?? 0)
  const fd = socket._handle?.fd ?? -1
  const slot = slotOf(socket, body)
  if ((!chunk && left < Math.max(minBytes, 1)) || fd < 0 || slot === undefined) return undefined
  // Nothing is known of what the parser reads after this.
  stopTracking(body)
  const closers: (() => void)[] = []
  const release = hold(socket, () => {
    for (const listener of closers) listener()
  })
  return {
    fd,
    ahead: (body.read() as Buffer | null) ?? Buffer.alloc(0),
    left,
    chunk,
    onClose: listener => void closers.push(listener),
    reattach(finished) {
      release()
      if (socket.destroyed) return
      if (chunk) followChunks(socket, slot, chunk, finished)
      else skipBytes(socket, slot, left - finished.left)
      socket.resume()
    },
  }
}

export interface BodyDetacher {
  /** Whether `detach` may succeed, by the request's headers. */
  mayDetach(body: Readable, minBytes: number): boolean
  /** Whether the body comes in chunks and may be detached, if it is done when no packet is being read: in a turn of its own. */
  needsTurn(body: Readable): boolean
  /**
   * Stops Node from reading; `taken` says how much of the body was consumed so far. The body must be paused, without a
   * listener for data, and the bytes that came together with the head must be delivered, as they are after the turn of
   * the event `request`. Returns undefined, and changes nothing, when this is not the body of a request on a plain
   * connection, or when fewer than `minBytes` bytes are still to come.
   */
  detach(body: Readable, taken: number, minBytes: number): DetachedBody | undefined
}

/** When it is off nothing is detached: every body comes as a stream. */
export const createBodyDetacher = (enabled: boolean): BodyDetacher => {
  if (!enabled) return { mayDetach: () => false, needsTurn: () => false, detach: () => undefined }
  observeRequests()
  return { mayDetach, needsTurn: isTracked, detach }
}

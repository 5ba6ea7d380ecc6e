/**
 * Where Node's parser is in a body of chunks, which it does not tell: the packets that it reads are looked at beside it, until
 * the body is taken from it or it turns out that nobody wants it.
 */
import type { IncomingMessage } from 'node:http'
import type { ChunkPlace } from '../native/receive/receive.ts'
import type { Parser } from './connection.ts'

interface Tracked extends ChunkPlace {
  /** Bytes of the body so far. */
  readonly decoded: number
  /** The place is in the middle of what frames the chunks, or after the last one. */
  readonly between: boolean
}

export interface ChunkTracker {
  /** Undefined when the parser has read something that was not seen here. */
  place(): Tracked | undefined
  /** Whether packets are still looked at. */
  active(): boolean
  stop(): void
}

/** Whoever wants the body takes it with the first packets; later ones are not worth a copy. */
const maxPackets = 16
const newline = 0x0a

interface State {
  remaining: number
  needsCrlf: boolean
  decoded: number
  /** The beginning of a line that has not come whole. */
  line: string
  ended: boolean
}

/** The parser has accepted these bytes, so they need not be checked again. */
const decode = (state: State, bytes: Buffer): void => {
  for (let at = 0; at < bytes.length && !state.ended; ) {
    if (state.remaining > 0) {
      const count = Math.min(state.remaining, bytes.length - at)
      state.remaining -= count
      state.decoded += count
      state.needsCrlf = state.remaining === 0
      at += count
      continue
    }
    const found = bytes.indexOf(newline, at)
    const end = found < 0 ? bytes.length : found + 1
    state.line += bytes.toString('latin1', at, end)
    at = end
    if (found < 0) return
    if (state.needsCrlf) state.needsCrlf = false
    else {
      state.remaining = Number.parseInt(state.line, 16)
      state.ended = state.remaining === 0
    }
    state.line = ''
  }
}

/** What of the packet follows the head of this very request; undefined when that cannot be told. */
const afterHead = (parser: Parser, { method, url, httpVersion }: IncomingMessage): Buffer | undefined => {
  const packet = parser.getCurrentBuffer?.()
  const line = `${method} ${url} HTTP/${httpVersion}\r\n`
  if (packet?.toString('latin1', 0, line.length) !== line) return undefined
  const end = packet.indexOf('\r\n\r\n')
  return end < 0 ? undefined : packet.subarray(end + 4)
}

/** To be called while the parser reports the head of the request, which is the first in its packet. */
export const trackChunks = (parser: Parser, message: IncomingMessage): ChunkTracker | undefined => {
  const slot = parser.constructor.kOnBody
  const original = slot === undefined ? undefined : parser[slot]
  const begun = afterHead(parser, message)
  if (slot === undefined || typeof original !== 'function' || !begun) return undefined
  const { socket } = message
  const state: State = { remaining: 0, needsCrlf: false, decoded: 0, line: '', ended: false }
  decode(state, begun)
  let seen = socket.bytesRead
  let packets = 1
  const stop = () => {
    if (parser[slot] === watching) parser[slot] = original
  }
  /** In the parser's place for each piece of the body; of a packet the first is enough. */
  const watching = function (this: unknown, ...args: unknown[]): unknown {
    if (socket.bytesRead !== seen) {
      const packet = packets++ < maxPackets ? parser.getCurrentBuffer?.() : undefined
      // Not all of what was read since then is this packet: something came that was not seen.
      if (packet && socket.bytesRead === seen + packet.length) {
        decode(state, packet)
        seen = socket.bytesRead
      } else stop()
    }
    return Reflect.apply(original, this, args)
  }
  parser[slot] = watching
  message.once('close', stop)
  return {
    place() {
      if (socket.bytesRead !== seen || parser[slot] !== watching) return undefined
      const { remaining, needsCrlf, decoded, line, ended } = state
      return { remaining, needsCrlf, decoded, between: ended || line !== '' }
    },
    active: () => parser[slot] === watching,
    stop,
  }
}

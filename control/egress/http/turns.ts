/**
 * Requests of one HTTP/1.1 connection, one after the other. Node hands over all that came in one piece at once: without turns a few
 * kilobytes of requests would open a thousand connections to servers, and those of answers that wait would stay when the sandbox has gone.
 */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

export interface Turns {
  /** Starts when the request before it has been answered. */
  take(socket: Duplex, res: ServerResponse, start: () => void): void
  /** Ends the connection if a request is under way on it: nothing but a request may follow one. True when it has. */
  endBusy(socket: Duplex): boolean
}

interface Line {
  current: ServerResponse | undefined
  readonly waiting: { readonly res: ServerResponse; readonly start: () => void }[]
}

/** apt, which asks for most in advance, stops at ten. */
const maxWaiting = 64

const begin = (line: Line, socket: Duplex, res: ServerResponse, start: () => void): void => {
  line.current = res
  res.once('close', () => {
    line.current = undefined
    const next = line.waiting.shift()
    if (next && !socket.destroyed) begin(line, socket, next.res, next.start)
  })
  start()
}

export const createTurns = (): Turns => {
  const lines = new WeakMap<Duplex, Line>()
  const lineOf = (socket: Duplex): Line => {
    const found = lines.get(socket)
    if (found) return found
    const made: Line = { current: undefined, waiting: [] }
    lines.set(socket, made)
    return made
  }
  return {
    take(socket, res, start) {
      const line = lineOf(socket)
      if (!line.current) begin(line, socket, res, start)
      else if (line.waiting.length < maxWaiting) line.waiting.push({ res, start })
      else socket.destroy()
    },
    endBusy(socket) {
      const current = lines.get(socket)?.current
      if (current) socket.destroy()
      return current !== undefined
    },
  }
}

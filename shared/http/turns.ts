/**
 * Requests of one HTTP/1.1 connection, one after the other: what changes something must see what the one before it has changed (RFC 9112,
 * section 9.3.2), and a few kilobytes of requests must not be a thousand under way. Node begins the next as soon as the body of the one
 * before is read.
 */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

export interface Turns {
  /** Starts when the request before it has been answered; not at all when its client has gone by then. `bytes` is what it takes while it waits. */
  take(socket: Duplex, response: ServerResponse, start: () => void, bytes?: number): void
  /** Whether a request of the connection has not been answered yet. */
  isBusy(socket: Duplex): boolean
}

interface Line {
  latest: ServerResponse
  waiting: number
  bytes: number
}

const isOver = (response: ServerResponse): boolean => response.writableFinished || response.destroyed

/** So many requests of one connection wait at most, and so many bytes of them; more ends it. */
export const createTurns = (mostWaiting = Infinity, mostBytes = Infinity): Turns => {
  const lines = new WeakMap<Duplex, Line>()
  return {
    take(socket, response, start, bytes = 0) {
      const line = lines.get(socket)
      if (!line) {
        lines.set(socket, { latest: response, waiting: 0, bytes: 0 })
        return start()
      }
      const before = line.latest
      if (!isOver(before) && (line.waiting >= mostWaiting || line.bytes + bytes > mostBytes))
        return void socket.destroy()
      line.latest = response
      if (isOver(before)) return start()
      line.waiting++
      line.bytes += bytes
      before.once('close', () => {
        line.waiting--
        line.bytes -= bytes
        // A packet holds thousands of requests, and an answer need not wait for anything: others are served in between.
        setImmediate(() => {
          if (!socket.destroyed) start()
        })
      })
    },
    isBusy(socket) {
      const line = lines.get(socket)
      return line !== undefined && !isOver(line.latest)
    },
  }
}

/** The order of requests that came in one go. */
import type { IncomingMessage, ServerResponse } from 'node:http'

/**
 * Runs the requests of a connection one after the other: what changes something must see what the one before it has changed (RFC 9112,
 * section 9.3.2). Node begins the next as soon as the body of the one before is read.
 */
export const inTurn = () => {
  const latest = new WeakMap<object, ServerResponse>()
  return (message: IncomingMessage, response: ServerResponse, run: () => void): void => {
    // Streams of HTTP/2 have no order.
    if (message.httpVersionMajor !== 1) return run()
    const before = latest.get(message.socket)
    latest.set(message.socket, response)
    if (!before || before.writableFinished || before.destroyed) return run()
    // With the client gone meanwhile, nothing of it was begun.
    before.once('close', () => (message.destroyed ? response.destroy() : run()))
  }
}

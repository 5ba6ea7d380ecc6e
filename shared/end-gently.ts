/** The end of a connection whose peer may not have read everything yet. */
import type { Duplex } from 'node:stream'

/** A reader that takes nothing for so long is not waited for. */
const patienceMs = 30_000

/**
 * Closes `socket` once what was written to it is sent: destroying it at once would drop what a slow reader has not taken. What
 * still comes from it is read and dropped, since the kernel answers unread bytes with a reset.
 */
export const endGently = (socket: Duplex & { setTimeout?: (ms: number, late: () => void) => unknown }): void => {
  if (socket.destroyed) return
  if (socket.writableFinished) return void socket.destroy()
  socket.once('finish', () => socket.destroy())
  socket.setTimeout?.(patienceMs, () => socket.destroy())
  socket.resume()
  socket.end()
}

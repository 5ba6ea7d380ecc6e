/**
 * Connections that have not brought a credential yet. They cost little each, by the bounds of the server, and are few: when
 * there are too many the oldest goes, so that whoever only connects keeps nobody out.
 */
import type { Socket } from 'node:net'

export interface Newcomers {
  add(socket: Socket): void
  /** The connection has brought a valid credential. */
  admitted(connection: object | undefined): void
  readonly size: number
}

export const createNewcomers = ({ max = 1_024 }: { readonly max?: number } = {}): Newcomers => {
  // In the order of their arrival.
  const waiting = new Set<Socket>()
  return {
    add(socket) {
      const [oldest] = waiting
      if (oldest && waiting.size >= max) {
        waiting.delete(oldest)
        oldest.destroy()
      }
      waiting.add(socket)
      socket.once('close', () => waiting.delete(socket))
    },
    admitted(connection) {
      if (connection) waiting.delete(connection as Socket)
    },
    get size() {
      return waiting.size
    },
  }
}

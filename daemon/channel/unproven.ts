/** Connections that have not proved anything yet: few, and not for long. */
import type { Socket } from 'node:net'

const maxUnproven = 64
/** The host answers at once, unless a hundred others want something of it just then. */
const proveWithinMs = 5_000

export interface Unproven {
  /** Closes the connection when it is not `settled` in time, or the oldest when there are too many. */
  add(socket: Socket): void
  settled(socket: Socket): void
  readonly size: number
  closeAll(): void
}

export const createUnproven = (): Unproven => {
  const timers = new Map<Socket, NodeJS.Timeout>()
  const settled = (socket: Socket): void => {
    clearTimeout(timers.get(socket))
    timers.delete(socket)
  }
  return {
    add(socket) {
      // The newest may be the host, who answers within a millisecond; those that say nothing must not keep it out.
      const [oldest] = timers.keys()
      if (oldest && timers.size >= maxUnproven) oldest.destroy()
      timers.set(
        socket,
        setTimeout(() => socket.destroy(), proveWithinMs),
      )
      socket.once('close', () => settled(socket))
    },
    settled,
    get size() {
      return timers.size
    },
    closeAll() {
      for (const socket of timers.keys()) socket.destroy()
    },
  }
}

import type { Socket } from 'node:net'

/** Calls `run` when node has nothing more to write to any of them, or they are gone: at once where that is so already. */
export const onceFlushed = (sockets: readonly Socket[], run: () => void): void => {
  const waiting = sockets.filter(({ writableLength, destroyed }) => writableLength > 0 && !destroyed)
  if (waiting.length === 0) return run()
  let left = waiting.length
  for (const socket of waiting)
    socket.write('', () => {
      if (--left === 0) run()
    })
}

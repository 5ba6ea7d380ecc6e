/** Looks at the first bytes of a connection and puts them back. */
import type { Socket } from 'node:net'
import type { Clock } from '../../../shared/clock.ts'

/**
 * Collects bytes until `enough` says so; then they are back in the socket, which is paused. Resolves with undefined when the
 * connection ends or `ms` have passed before.
 */
export const peek = (
  socket: Socket,
  clock: Clock,
  ms: number,
  enough: (bytes: Buffer) => boolean,
): Promise<Buffer | undefined> =>
  new Promise(resolve => {
    let seen: Buffer = Buffer.alloc(0)
    const finish = (result: Buffer | undefined) => {
      stop()
      socket.off('readable', look)
      socket.off('end', over)
      socket.off('close', over)
      if (seen.length > 0 && !socket.destroyed) socket.unshift(seen)
      resolve(result)
    }
    const stop = clock.after(ms, () => finish(undefined))
    const over = () => finish(undefined)
    const look = () => {
      for (let piece: Buffer | null = socket.read(); piece !== null; piece = socket.read()) {
        seen = seen.length === 0 ? piece : Buffer.concat([seen, piece])
        if (enough(seen)) return finish(seen)
      }
    }
    socket.on('readable', look)
    socket.on('end', over)
    socket.on('close', over)
    look()
  })

/**
 * The last net. An exception that nobody caught ends the connection that it was thrown for, where it was thrown in handling what a sandbox
 * sends: nothing that a tenant makes may end the control plane of all. Any other ends the server, whose state nobody knows by then.
 *
 * Which connection it is goes along with everything that is begun for it: listeners, timers, promises, further connections
 * (https://nodejs.org/docs/latest-v24.x/api/async_context.html). What several share, the first of them may have begun.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Socket } from 'node:net'
import type { Log } from '../../shared/log.ts'

export interface LastNet {
  /** Runs `begin`, which takes the connection over. What it or anything that comes of it throws ends the connection, and is logged. */
  guard(socket: Socket, log: Log, begin: () => void): void
  /** Whether an exception that came this far was a connection's, which has been ended. To be asked by a listener of `uncaughtException`. */
  caught(error: unknown): boolean
}

interface Guarded {
  readonly socket: Socket
  readonly log: Log
}

const end = ({ socket, log }: Guarded, error: unknown): void => {
  log.error('connection.threw', { error, from: socket.remoteAddress })
  socket.destroy()
}

export const createLastNet = (): LastNet => {
  const current = new AsyncLocalStorage<Guarded | undefined>()
  return {
    guard(socket, log, begin) {
      const guarded = { socket, log }
      const within = <T>(run: () => T): T | undefined =>
        current.run(guarded, () => {
          try {
            return run()
          } catch (error) {
            end(guarded, error)
            return undefined
          }
        })
      const emit = socket.emit as (...event: readonly unknown[]) => boolean
      // A socket that was accepted calls its listeners for the server that listens.
      socket.emit = (...event: readonly unknown[]) => {
        const call = () => emit.call(socket, ...event)
        return current.getStore() === guarded ? call() : (within(call) ?? true)
      }
      within(begin)
    },
    caught(error) {
      const guarded = current.getStore()
      if (guarded) end(guarded, error)
      // Node leaves it behind for what comes next.
      current.enterWith(undefined)
      return guarded !== undefined
    },
  }
}

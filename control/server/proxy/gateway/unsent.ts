/** Requests of which nothing was sent, because their machine took no connection. */
import { errno } from '../../../../shared/errors.ts'
import type { Connections } from '../../../core/channel/connections.ts'
import type { Instance } from '../../../core/store/store.ts'

/** Finds out whether the machine has ended; then it is started, and the request can be sent to where it is next. */
export type Revive = (instance: Instance, signal: AbortSignal) => Promise<boolean>

/** Nobody accepted the connection, so that the request can be sent again whatever it is. */
const refusals: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'])

export const isUnsent = (error: unknown): boolean =>
  refusals.has(errno(error)) || (error instanceof Error && error.cause !== undefined && isUnsent(error.cause))

/** Whether the daemon takes connections: then the machine runs, and only what was asked for does not. */
const takesConnections = async (connections: Connections, { address }: Instance): Promise<boolean> => {
  if (!address) return false
  try {
    const socket = await connections.open({ address }, 'client')
    socket.on('error', () => {}).destroy()
    return true
  } catch (error) {
    return !isUnsent(error)
  }
}

export const reviver =
  (connections: Connections, hasEnded: Revive): Revive =>
  async (instance, signal) =>
    !(await takesConnections(connections, instance)) && hasEnded(instance, signal)

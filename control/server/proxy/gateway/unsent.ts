/** Starts a machine that took no connection because it has ended. */
import type { Connections } from '../../../core/channel/connections.ts'
import { isUnsent } from '../../../core/channel/unanswered.ts'
import type { Instance } from '../../../core/store/store.ts'

/** Finds out whether the machine has ended; then it is started, and the request can be sent to where it is next. */
export type Revive = (instance: Instance, signal: AbortSignal) => Promise<boolean>

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

/** Who speaks on a connection. */
import type { Role } from '../../shared/channel.ts'
import type { Request } from '../../shared/route.ts'

/** `tenant`: anybody who has proved nothing, from inside of the sandbox or from beside it. */
export type Caller = Role | 'tenant'

export interface Connections {
  /** The connection has proved the role. */
  prove(connection: object, role: Role): void
  callerOf(request: Request): Caller
}

/** Without a key there is nothing to prove it with: then everybody is the host. */
export const createConnections = ({ keyed }: { keyed: boolean }): Connections => {
  const proven = new WeakMap<object, Role>()
  return {
    prove: (connection, role) => void proven.set(connection, role),
    callerOf: ({ connection }) => (keyed ? ((connection && proven.get(connection)) ?? 'tenant') : 'host'),
  }
}

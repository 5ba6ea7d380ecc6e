import { activity } from '../../shared/wire/system.ts'
import { askDaemon } from '../channel/ask.ts'
import type { Connections } from '../channel/connections.ts'
import type { Address } from '../store/store.ts'

const boundMs = 2_000

/**
 * Asks a machine's daemon how many keep-alive processes it runs. What it says is not trusted beyond this: it can keep
 * itself awake, at its own cost. Throws when the daemon does not answer within two seconds.
 */
export const keepAliveCount = async (connections: Connections, address: Address): Promise<number> => {
  const answer = await askDaemon(connections, address, { path: activity.path, boundMs })
  const { keepAlive } = (answer ?? {}) as { keepAlive?: unknown }
  return typeof keepAlive === 'number' ? keepAlive : 0
}

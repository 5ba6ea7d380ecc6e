import { activity } from '../../../shared/wire/system.ts'
import { daemonAt } from '../channel/client.ts'
import type { Connections } from '../channel/connections.ts'
import type { Address } from '../store/store.ts'

/** An answer is a few numbers. */
const bounds = { timeoutMs: 2_000, maxBytes: 64 * 1024 }

/**
 * Asks a machine's daemon how many keep-alive processes it runs. What it says is not trusted beyond this: it can keep
 * itself awake, at its own cost. When it `sleeps` if there are none, it collects what its start has left. Throws when it does not answer
 * within two seconds.
 */
export const keepAliveCount = async (connections: Connections, address: Address, sleeps: boolean): Promise<number> =>
  (await daemonAt(connections, address, 'host', bounds).ask(activity, { query: sleeps ? { sleeps } : {} })).keepAlive

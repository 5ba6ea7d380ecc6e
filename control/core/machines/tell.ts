import { configure } from '../../../shared/wire/host.ts'
import { daemonAt } from '../channel/client.ts'
import type { Connections } from '../channel/connections.ts'
import type { Tell } from './configure.ts'

/** An answer is a few numbers and names. */
const bounds = { timeoutMs: 2_000, maxBytes: 64 * 1024 }

/** Tells the daemon of a machine what the host has configured, over the channel. */
export const teller =
  (connections: Connections): Tell =>
  async (address, body) =>
    (await daemonAt(connections, address, 'host', bounds).ask(configure, { body })).unapplied

/** Machines that were made ahead of need, asleep, and belong to nobody's record; who keeps them is not known here. */
import { claim } from '../../../shared/wire/host.ts'
import { daemonAt } from '../channel/client.ts'
import type { Connections } from '../channel/connections.ts'
import { boundOf, configurationOf } from '../../drivers/configuration.ts'
import type { MachineSpec } from '../../drivers/driver.ts'
import type { MachinePlan } from '../transitions/rules.ts'
import type { Address, Instance } from '../store/store.ts'

export interface Spare {
  /** Whether it is worth asking at all. */
  readonly asks: boolean
  /**
   * Gives `use` machines that can become what the plan says, `count` at most, which nobody else is given meanwhile; what it does not
   * take into another's possession stays.
   */
  giving<T>(plan: MachinePlan, count: number, use: (machines: readonly Instance[]) => Promise<T>): Promise<T>
  /** Told what has become of a machine that was taken: its owner's, or nothing, and why. */
  became(id: string, error?: unknown): void
}

/** Tells the daemon of a machine that was made for nobody whose it is. Throws when it does not become that. */
export type ClaimDaemon = (address: Address, spec: Omit<MachineSpec, 'channel'>) => Promise<void>

const bounds = { timeoutMs: 20_000, maxBytes: 64 * 1024 }

export const claimDaemonBy =
  (connections: Connections): ClaimDaemon =>
  async (address, spec) => {
    await daemonAt(connections, address, 'host', bounds).ask(claim, {
      body: { ...configurationOf(spec), ...boundOf(spec) },
    })
  }

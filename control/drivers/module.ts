/** What a driver is opened with, and how one is listed. */
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import type { Config } from '../base/config.ts'
import type { Driver } from './driver.ts'

export type DriverConfig = Pick<Config, 'dataDir' | 'driver' | 'runtime' | 'subnet' | 'bundleDir'> &
  Partial<Pick<Config, 'allowNetworks' | 'slotsAhead' | 'pidsLimit' | 'userNamespaces' | 'diskQuota' | 'diskReserveMb'>>

export interface DriverDeps {
  readonly log: Log
  readonly clock: Clock
  /** TCP ports of the host that sandboxes may reach at their gateway address (the egress proxy); none by default. */
  readonly hostPorts?: readonly number[]
}

export interface DriverModule {
  readonly name: string
  /** Higher isolates better; undefined is never chosen by `auto`. */
  readonly tier?: number
  open(config: DriverConfig, deps: DriverDeps): Promise<Driver>
}

import type { Clock } from '../shared/clock.ts'
import type { Closing } from '../shared/closing.ts'
import type { Ids } from '../shared/ids.ts'
import type { Log } from '../shared/log.ts'
import type { HostConfiguration } from './channel/configuration.ts'
import type { Config } from './config/config.ts'
import type { Environment } from './environment.ts'
import type { Identity } from './identity/index.ts'
import type { Reaper } from './init/reaper.ts'
import type { NodeInternals } from './node-internals/index.ts'
import type { Inherited } from './upgrade/handover.ts'

/** What every room of the daemon may use; each takes the part it needs. */
export interface Core {
  readonly config: Config
  /** Where relative paths begin: as at the start, but for a daemon that was claimed since. */
  readonly workdir: () => string
  readonly environment: Environment
  readonly hostConfiguration: HostConfiguration
  /** What the daemon that this one replaced has left. */
  readonly inherited: Inherited
  /** Who tenant processes run as from now on; undefined means root. The host may change it. */
  readonly identity: () => Identity | undefined
  readonly nodeInternals: NodeInternals
  /** Waits for every child of the daemon. */
  readonly reaper: Reaper
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** Closed in reverse order when the daemon closes. */
  readonly closing: Closing
}

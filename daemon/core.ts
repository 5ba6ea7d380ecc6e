import type { Clock } from '../shared/clock.ts'
import type { Closing } from '../shared/closing.ts'
import type { Ids } from '../shared/ids.ts'
import type { Log } from '../shared/log.ts'
import type { Config } from './config.ts'
import type { Environment } from './environment.ts'

/** What every capability of the daemon may use; each takes the part it needs. */
export interface Core {
  readonly config: Config
  readonly environment: Environment
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** Closed in reverse order when the daemon closes. */
  readonly closing: Closing
}

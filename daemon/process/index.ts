/** Processes of a sandbox: the supervisor and the routes it answers. */
import { join } from 'node:path'
import type { Bound } from '../../shared/route.ts'
import type { Core } from '../core.ts'
import { tenantDrops } from '../init/capabilities.ts'
import { portsReady } from '../network/ready.ts'
import type { InheritedPipe } from './adopt.ts'
import { createSeal } from '../own-files/seal.ts'
import { createHeartbeat } from './heartbeat.ts'
import type { ProcessConfig } from './context.ts'
import type { KeepAwake } from './keep-awake.ts'
import { processRoutes } from './routes.ts'
import { createSupervisor, type Supervisor } from './supervisor.ts'

export type { Supervisor } from './supervisor.ts'

interface ProcessDeps {
  readonly core: Core
  readonly keepAwake: Pick<KeepAwake, 'hold'>
  /** Where processes start that are given no directory, and where relative ones begin. */
  readonly cwd: () => string
  readonly pipes?: readonly InheritedPipe[]
}

const keepFinished = 10_000

/** Takes over the processes of an earlier daemon. Call it in the turn of the event loop in which the reaper is made. */
export const createProcesses = (deps: ProcessDeps): { supervisor: Supervisor; bounds: Bound[] } => {
  const { core, keepAwake, cwd, pipes = [] } = deps
  const { clock, ids, log, environment, hostConfiguration, identity, reaper, closing } = core
  const { logs, keepAlive, names, stateDir, rehearsal } = core.config
  const config: ProcessConfig = {
    logDir: logs.dir,
    stateDir: join(stateDir, 'processes'),
    get cwd() {
      return cwd()
    },
    maxFileBytes: logs.maxFileBytes,
    // Whoever claims a machine may give it another size.
    get maxTotalBytes() {
      return hostConfiguration.limits().logBytes
    },
    responseBytes: logs.responseBytes,
    tailBytes: logs.inMemoryBytes,
    keepAlive,
    keepFinished,
    rehearsal,
  }
  const supervisor = createSupervisor(config, {
    clock,
    ids,
    log,
    reaper,
    workload: { environment, identity, dropCapabilities: tenantDrops },
    keepAwake,
    pipes,
    seal: createSeal(hostConfiguration.document()?.machine.seal, 'journal'),
  })
  closing.add('processes', supervisor.close)
  const heartbeat = createHeartbeat(clock)
  return { supervisor, bounds: processRoutes({ supervisor, config, clock, heartbeat, names, portsReady }) }
}

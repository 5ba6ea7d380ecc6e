/** Composition root of hutchd: every room gets what it needs and gives the routes it answers. */
import type { Clock } from '../shared/clock.ts'
import { closing, type Closing } from '../shared/closing.ts'
import { dispatcher, type Dispatcher } from '../shared/http/dispatch.ts'
import type { Ids } from '../shared/ids.ts'
import type { Log } from '../shared/log.ts'
import type { Bound } from '../shared/route.ts'
import { probes } from '../shared/wire/probes.ts'
import type { BootDocument } from '../shared/wire/host.ts'
import { createHostConfiguration } from './channel/configuration.ts'
import { createClaim, type Claim } from './channel/claim.ts'
import { createConnections, type Connections } from './channel/connections.ts'
import { dropIdentity } from './channel/identity-headers.ts'
import { hostRoutes } from './channel/routes.ts'
import { createCodegen } from './codegen/index.ts'
import type { Config } from './config/config.ts'
import type { Core } from './core.ts'
import { createDriveRoutes, driveOwner } from './drives/index.ts'
import { beginEgress, loadCertificates } from './egress/index.ts'
import { createEnvironment } from './environment.ts'
import { createFilesystem } from './filesystem/index.ts'
import { createFilePort } from './filesystem/native-port.ts'
import { tenantDrops } from './init/capabilities.ts'
import { createReaper } from './init/reaper.ts'
import { createMcp } from './mcp/index.ts'
import { createMultipart } from './multipart/index.ts'
import { createNetwork } from './network/index.ts'
import { createNodeInternals, type NodeInternals } from './node-internals/index.ts'
import { createProcesses, type Supervisor } from './process/index.ts'
import { createKeepAwake, type KeepAwake } from './process/keep-awake.ts'
import { shownStatus } from './process/present.ts'
import { createTermination } from './process/termination.ts'
import { createDaemonSurface } from './surface.ts'
import { createSwagger } from './swagger/index.ts'
import { activityRoute } from './system/activity.ts'
import { startEntrypoint } from './system/entrypoint.ts'
import { startCommand, type Command } from './system/command.ts'
import { createSystem, type System } from './system/index.ts'
import { createTerminalRoom, type TerminalRoom } from './terminal/index.ts'
import { createTunnelRoom } from './tunnel/index.ts'
import { nothingInherited, type Inherited } from './upgrade/handover.ts'
import type { Program } from './upgrade/program.ts'
import { createWatch } from './watch/index.ts'

interface DaemonDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** How to start another daemon, and how to be replaced by one. */
  readonly program: Program
  /** What the host has given; undefined for a daemon that nobody hosts. */
  readonly boot?: BootDocument | undefined
  /** Makes it somebody's; refused when it is left out. */
  readonly claim?: Claim
  /** What the daemon that this one replaces has left. */
  readonly inherited?: Inherited
  readonly nodeInternals?: NodeInternals
  /** Collects what the start has left, once. */
  readonly tidy?: () => void
  /** Who speaks on which connection; everybody is the host when it is left out. */
  readonly connections?: Connections
  /** Checks every answer against its declaration; for tests. */
  readonly checkReplies?: boolean
}

export interface Daemon {
  readonly core: Core
  readonly system: System
  readonly bounds: readonly Bound[]
  readonly dispatcher: Dispatcher
  /**
   * Becomes what a claim says without being made anew; false when it cannot: what differs is read at a start only, or it has been
   * used. Then nothing is changed. Throws as a start with that configuration.
   */
  become(next: BootDocument): Promise<boolean>
  /** Stops what runs beside the API. Managed processes live on. */
  close(): Promise<void>
}

/** Clients know a process by the pid of its first start; after a restart another one has its sockets. */
const currentPid = (supervisor: Supervisor, pid: number): number =>
  supervisor.list().find(({ record }) => record.pid === pid)?.record.current?.pid ?? pid

/**
 * Starts the command of `-c`, or follows the one that an earlier daemon started; one that has ended is not started
 * again.
 */
const runCommand = (core: Core): Command | undefined => {
  const { config, inherited, environment, identity, reaper, log, closing: closer } = core
  const { command, rehearsal } = config
  const ended = inherited.lastUpgrade !== undefined && inherited.command === undefined
  if (command === undefined || rehearsal || ended) return undefined
  const workload = { environment, identity, dropCapabilities: tenantDrops }
  const started = startCommand(command, inherited.command, { log, reaper, workload })
  closer.add('command', started.stop)
  return started
}

const createCore = (config: Config, deps: DaemonDeps, closer: Closing): Core => {
  const { clock, ids, log, inherited = nothingInherited, nodeInternals = createNodeInternals() } = deps
  const reaper = createReaper({ clock, log })
  closer.add('reaper', reaper.close)
  const environment = createEnvironment(config.environment, inherited.environment, inherited.reloaded)
  const hostConfiguration = createHostConfiguration(deps.boot, {
    clock,
    environment,
    config,
    loadCertificates: () => loadCertificates({ config, environment, log }),
  })
  return {
    config,
    workdir: hostConfiguration.workdir,
    environment,
    hostConfiguration,
    inherited,
    identity: hostConfiguration.workloadIdentity,
    nodeInternals,
    reaper,
    clock,
    ids,
    log,
    closing: closer,
  }
}

/** At the start of a machine: a later daemon finds the process running, or as it has ended. */
const runEntrypoint = ({ config, inherited, log }: Core, { start }: Supervisor): void => {
  if (config.entrypoint.length === 0 || config.rehearsal || inherited.lastUpgrade !== undefined) return
  startEntrypoint(config.entrypoint, { start, log })
}
const unclaimable = createClaim(undefined, async () => {})

const createHostRoutes = (core: Core, supervisor: Supervisor, claim = unclaimable): Bound[] =>
  hostRoutes({
    configuration: core.hostConfiguration,
    become: claim,
    endAll: createTermination({ supervisor, alone: process.pid === 1, log: core.log }).begin,
  })

interface SystemParts {
  readonly program: Program
  readonly keepAwake: KeepAwake
  readonly supervisor: Supervisor
  readonly terminals: TerminalRoom
  readonly command: () => Command | undefined
}

const composeSystem = (core: Core, parts: SystemParts): System => {
  const { program, keepAwake, supervisor, terminals, command } = parts
  return createSystem(core, {
    program,
    hold: keepAwake.hold,
    command: () => command()?.pid(),
    pipes: supervisor.pipes,
    terminals,
    // As `GET /process` of the new release shows them.
    list: () => supervisor.list().map(({ record }) => ({ pid: String(record.pid), status: shownStatus(record) })),
  })
}

interface Composed {
  readonly daemon: Daemon
  /** Does what must happen before the first request. */
  begin(): Promise<void>
}

const lifeOf = (core: Core, supervisor: Supervisor, closer: Closing): Pick<Daemon, 'become' | 'close'> => ({
  become: async next => supervisor.list().length === 0 && core.hostConfiguration.become(next),
  close: closer.close,
})

/** Where processes start that are given none. A machine's daemon itself stays in the root, which is always there. */
const startDirectory = ({ boot }: DaemonDeps, { workdir }: Core): (() => string) => {
  const own = process.cwd()
  return boot ? workdir : () => own
}

const compose = (config: Config, deps: DaemonDeps, closer: Closing): Composed => {
  const { clock, ids, log, program, checkReplies = false, connections = createConnections({ keyed: false }) } = deps
  const core = createCore(config, deps, closer)
  const { inherited, identity } = core
  const port = createFilePort(identity)
  const filesystem = createFilesystem(core, port)
  const { files, paths } = filesystem
  // A rehearsal must not reset what the daemon in charge counts.
  const keepAwake = createKeepAwake({ path: config.scaleFile, enabled: config.keepAlive && !config.rehearsal, log })
  const { supervisor, bounds: processes } = createProcesses({
    core,
    keepAwake,
    cwd: startDirectory(deps, core),
    pipes: inherited.pipes,
  })
  // A command that runs already is adopted at once. A new one waits for the tunnel: none of its traffic may leave
  // outside of it.
  const adopted = inherited.command !== undefined
  let command = adopted ? runCommand(core) : undefined
  const tunnel = createTunnelRoom(core)
  const terminals = createTerminalRoom(core)
  const system = composeSystem(core, { program, keepAwake, supervisor, terminals, command: () => command })
  const codegen = createCodegen(core, filesystem)
  const bounds: Bound[] = [
    ...probes(),
    ...system.bounds,
    activityRoute({ held: () => keepAwake.held, drives: () => driveOwner(config, identity()), tidy: deps.tidy }),
    ...filesystem.bounds,
    ...createMultipart(core, { paths, port, whole: files.whole }),
    ...createWatch(core, { port, paths }),
    ...processes,
    ...createNetwork(core, pid => currentPid(supervisor, pid)),
    ...createSwagger(core, () => bounds.map(({ route }) => route)),
    ...terminals.bounds,
    ...createMcp(core, { files, supervisor, moreTools: codegen.tools }),
    ...codegen.bounds,
    ...createDriveRoutes(core),
    ...createHostRoutes(core, supervisor, deps.claim),
    ...tunnel.bounds,
  ]
  const surface = createDaemonSurface(bounds, config, { callerOf: connections.callerOf, checkReplies })
  const inner = dispatcher(bounds, surface, { log, ids, elapsed: clock.elapsed })
  return {
    daemon: {
      core,
      system,
      bounds,
      dispatcher: dropIdentity(inner, connections, config.names),
      ...lifeOf(core, supervisor, closer),
    },
    async begin() {
      await beginEgress(core)
      await tunnel.begin()
      await terminals.begin()
      if (!adopted) command = runCommand(core)
      runEntrypoint(core, supervisor)
    },
  }
}

/** Builds the daemon; it is ready when this resolves. When a part fails, everything that was opened is closed. */
export const createDaemon = async (config: Config, deps: DaemonDeps): Promise<Daemon> => {
  const closer = closing({ log: deps.log })
  try {
    const { daemon, begin } = compose(config, deps, closer)
    await begin()
    return daemon
  } catch (error) {
    // Otherwise the daemon before this one is restored, and goes on with all of it.
    if (!deps.inherited?.back) await closer.close()
    throw error
  }
}

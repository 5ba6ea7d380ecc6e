/** Composition root of hutchd: every capability gets what it needs and gives the routes it answers. */
import type { Clock } from '../shared/clock.ts'
import { closing, type Closing } from '../shared/closing.ts'
import { dispatcher, type Dispatcher } from '../shared/http/dispatch.ts'
import type { Ids } from '../shared/ids.ts'
import type { Log } from '../shared/log.ts'
import { handle, type Bound } from '../shared/route.ts'
import { probes } from '../shared/wire/probes.ts'
import { activity } from '../shared/wire/system.ts'
import type { Config } from './config/config.ts'
import type { Core } from './core.ts'
import { driveOwner } from './drives/owner.ts'
import { beginEgress } from './egress/index.ts'
import { liveEnvironment } from './environment.ts'
import { loadIdentity } from './identity/index.ts'
import { tenantDrops } from './init/capabilities.ts'
import { createReaper } from './init/reaper.ts'
import { createFilesystem } from './filesystem/index.ts'
import { createProcesses, type Supervisor } from './process/index.ts'
import { shownStatus } from './process/present.ts'
import { createScale } from './process/keep-awake.ts'
import { networkRoutes } from './network/routes.ts'
import { filesAs } from './native/files/files.ts'
import { rareRoutes } from './rare.ts'
import { daemonSurface } from './surface.ts'
import { startCommand, type Command } from './system/command.ts'
import { createSystem, type System } from './system/index.ts'
import type { Program } from './upgrade/program.ts'
import { terminalLoader } from './terminal/index.ts'
import { tunnelLoader } from './tunnel/index.ts'
import { createHub } from './watch/hub.ts'
import { watchRoutes } from './watch/routes.ts'

export interface DaemonDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** How to start another daemon and how to become one. */
  readonly program: Program
  /** Checks every answer against its declaration; for tests. */
  readonly checkReplies?: boolean
}

export interface Daemon {
  readonly core: Core
  readonly system: System
  readonly bounds: readonly Bound[]
  readonly dispatcher: Dispatcher
  /** Stops what runs beside the API. Managed processes live on. */
  close(): Promise<void>
}

/** Clients know a process by the pid of its first start; after a restart another one has its sockets. */
const currentPid = (supervisor: Supervisor, pid: number): number =>
  supervisor.list().find(({ record }) => record.pid === pid)?.record.current?.pid ?? pid

/** The command of `-c`; one that an earlier daemon started goes on, and one that has ended by then stays ended. */
const runCommand = ({ config, environment, identity, reaper, log, closing: closer }: Core): Command | undefined => {
  const { command, inherited, rehearsal } = config
  const ended = inherited.lastUpgrade !== undefined && inherited.command === undefined
  if (command === undefined || rehearsal || ended) return undefined
  const workload = { environment, identity, dropCapabilities: tenantDrops() }
  const started = startCommand(command, inherited.command, { log, reaper, workload })
  closer.add('command', started.stop)
  return started
}

interface Composed {
  readonly daemon: Daemon
  /** What has to happen before the first request, in its order. */
  begin(): Promise<void>
}

const compose = (config: Config, deps: DaemonDeps, closer: Closing): Composed => {
  const { clock, ids, log, program, checkReplies = false } = deps
  const { inherited } = config
  const environment = liveEnvironment(config.environment, inherited.environment, inherited.reloaded)
  const identity = loadIdentity(config.user)
  const reaper = createReaper({ clock, log })
  closer.add('reaper', reaper.close)
  const core: Core = { config, environment, identity, reaper, clock, ids, log, closing: closer }
  const port = filesAs(identity)
  const filesystem = createFilesystem(core, port)
  const hub = createHub()
  closer.add('watch', hub.close)
  // A rehearsal must not reset what the daemon in charge counts.
  const scale = createScale({ path: config.scaleFile, enabled: config.keepAlive && !config.rehearsal, log })
  const processes = createProcesses({ core, scale, cwd: process.cwd(), pipes: inherited.pipes })
  const { supervisor } = processes
  // One that runs already is adopted in this turn, a new one waits for the tunnel: nothing may leave beside it.
  const adopted = inherited.command !== undefined
  let command = adopted ? runCommand(core) : undefined
  const tunnel = tunnelLoader(core)
  const terminals = terminalLoader(core)
  const system = createSystem(core, {
    program,
    hold: scale.hold,
    command: () => command?.pid(),
    pipes: supervisor.pipes,
    terminals,
    // As `GET /process` of the new release shows them.
    list: () => supervisor.list().map(({ record }) => ({ pid: String(record.pid), status: shownStatus(record) })),
  })
  const bounds: Bound[] = [
    ...probes(),
    ...system.bounds,
    handle(activity, () => ({ keepAlive: scale.held, drives: driveOwner(config, identity) })),
    ...filesystem.bounds,
    ...watchRoutes({ clock, files: port, hub, paths: filesystem.paths, user: identity }),
    ...processes.bounds,
    ...networkRoutes(core, pid => currentPid(supervisor, pid)),
    ...rareRoutes({
      core,
      filesystem,
      supervisor,
      tunnel: tunnel.load,
      terminals: terminals.load,
      routes: () => bounds.map(({ route }) => route),
    }),
  ]
  const surface = daemonSurface(bounds, config, { checkReplies })
  return {
    daemon: {
      core,
      system,
      bounds,
      dispatcher: dispatcher(bounds, surface, { log, ids, elapsed: clock.elapsed }),
      close: closer.close,
    },
    async begin() {
      await beginEgress(core)
      await tunnel.begin()
      await terminals.begin()
      if (!adopted) command = runCommand(core)
    },
  }
}

/** Builds the daemon; it is ready when this resolves. What was opened is closed again when a part cannot be made. */
export const createDaemon = async (config: Config, deps: DaemonDeps): Promise<Daemon> => {
  const closer = closing({ log: deps.log })
  try {
    const { daemon, begin } = compose(config, deps, closer)
    await begin()
    return daemon
  } catch (error) {
    // The daemon before this one comes back and goes on with all of it.
    if (!config.inherited.back) await closer.close()
    throw error
  }
}

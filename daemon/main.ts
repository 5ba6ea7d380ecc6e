/** hutchd: configuration, the daemon, its sockets, signals. */
import { systemClock } from '../shared/clock.ts'
import { closing, type Closing } from '../shared/closing.ts'
import { messageOf } from '../shared/errors.ts'
import type { Dispatcher } from '../shared/http/dispatch.ts'
import { listen, type Listening } from '../shared/http/listen.ts'
import { drawnAtOnce, idsFrom } from '../shared/ids.ts'
import { jsonLog } from '../shared/log.ts'
import type { BootDocument } from '../shared/wire/host.ts'
import { receiveBoot } from './channel/boot.ts'
import { createClaim, removeTraces } from './channel/claim.ts'
import { createConnections, type Connections } from './channel/connections.ts'
import { openChannel } from './channel/open.ts'
import { practiceEnvironment } from './channel/practise.ts'
import { loadConfig, type Config } from './config/config.ts'
import { parseFlags } from './config/flags.ts'
import { gatherEnvironment } from './config/sources.ts'
import { createDaemon, type Daemon } from './daemon.ts'
import { practiseAll } from './practice.ts'
import { createEntrances, createListeningSocket, inheritedSocket, type Entrances } from './upgrade/listening-socket.ts'
import { nothingInherited, receiveHandover, type Inherited } from './upgrade/handover.ts'
import { lockBundles } from './upgrade/bundle-lock.ts'
import { rehearsalFd } from './upgrade/candidate.ts'
import { createProgram, type Program } from './upgrade/program.ts'
import { isInSandbox } from './init/sandbox.ts'
import { createResolver, serversNamed, useResolver } from './names/resolver.ts'
import { createNodeInternals, readSwitches } from './node-internals/index.ts'
import { startIdleGc, type IdleGc } from './memory/idle-gc.ts'
import { listenTcp } from './native/descriptors/descriptors.ts'
import { randomBytes } from './native/sys/sys.ts'
import { guardStopSignals, protectDaemon } from './init/protect.ts'
import { receivePrivatePlace } from './init/private-place.ts'
import { privateFd, privatePlaceAt } from './config/private-place.ts'

/** What this process was started with. */
const env: NodeJS.ProcessEnv = { ...process.env }
// Everything is said in UTC; without it Node compares /etc/localtime with every file of /usr/share/zoneinfo.
Object.assign(process.env, { TZ: 'UTC' })
const clock = systemClock()
// A line is lost where the disk of the box is full, and there is nowhere to say so: unheard, the error would end the daemon, and with it the sandbox.
process.stderr.on('error', () => {})
const log = jsonLog({ level: 'info', now: clock.now, write: line => void process.stderr.write(line) })
const args = process.argv.slice(2)
const switches = readSwitches(env['HUTCH_NODE_INTERNALS_OFF'])
const nodeInternals = createNodeInternals(switches.off)

/** What tenants may have open at a time, so that they cannot take all descriptors; the host's come by the channel. */
const mostTenantConnections = 1_024

const configure = (boot: BootDocument | undefined): Config => {
  const cwd = process.cwd()
  const flags = parseFlags(args)
  const { configuration, machine } = boot ?? {}
  const memoryBytes = machine?.memoryBytes
  return loadConfig({ env: gatherEnvironment(env, cwd, log, configuration?.environment), flags, cwd, memoryBytes })
}

/** The socket that requests come in by: a rehearsal's, the one an earlier daemon left, or a new one. */
const openSocket = (config: Config, inherited: Inherited): number =>
  config.rehearsal ? rehearsalFd : (inheritedSocket(inherited.listener) ?? listenTcp(config.port, config.host).fd)

interface Running {
  entrances: Entrances | undefined
  daemon: Daemon | undefined
  /** Told of each request; nobody asks before the collector watches. */
  idleGc: IdleGc
}

const unwatched: IdleGc = { begun: () => () => {}, tidy() {} }

/** Once. Not for a daemon that waits to be somebody's: it would collect at the moment in which it wakes to a claim. */
const collectWhenIdle = (running: Running): void => {
  if (nodeInternals.createCollector) running.idleGc = startIdleGc(nodeInternals.createCollector)
}

/** What practising has left would be collected in the middle of the claim, which takes more than the claim itself. */
const collectYoung = (): void => {
  const collector = nodeInternals.createCollector?.()
  // What lives through two of them is old.
  collector?.young()
  collector?.young()
}

interface Begin {
  readonly connections: Connections
  readonly program: Program
  readonly running: Running
}

const resolveBy = (boot: BootDocument | undefined): void => {
  if (isInSandbox()) useResolver(() => createResolver(boot?.resolvers ?? serversNamed()))
}

/** What is left to do for a daemon that became somebody's without being made anew. */
const claimed = (boot: BootDocument, { core }: Daemon, running: Running): void => {
  const { heapBytes } = core.hostConfiguration.limits()
  resolveBy(boot)
  if (heapBytes !== undefined) nodeInternals.limitHeap(heapBytes)
  collectWhenIdle(running)
}

/** The daemon by what the host has given, in the place of the one before. */
const begin = async (boot: BootDocument | undefined, inherited: Inherited, around: Begin): Promise<Daemon> => {
  const { connections, program, running } = around
  const config = configure(boot)
  resolveBy(boot)
  const ids = idsFrom(drawnAtOnce(randomBytes))
  const claim = createClaim(boot, async next => {
    const before = running.daemon
    // The host has just written them, and no tenant has run yet.
    const document = { ...next, resolvers: serversNamed() }
    if (before && (await before.become(document))) {
      log.info('daemon.claimed', { anew: false })
      return claimed(document, before, running)
    }
    await before?.close()
    const { core } = await begin(document, nothingInherited, around)
    log.info('daemon.claimed', { anew: true })
    removeTraces(config, core.config)
  })
  const anonymous = boot?.machine.anonymous === true
  // V8 takes a lower limit later, and never a higher one: whoever claims a daemon says what there is.
  if (config.heapLimitBytes !== undefined && !anonymous) nodeInternals.limitHeap(config.heapLimitBytes)
  const tidy = () => running.idleGc.tidy()
  const deps = { clock, ids, log, program, boot, claim, connections, inherited, nodeInternals, tidy }
  running.daemon = await createDaemon(config, deps)
  if (!anonymous) collectWhenIdle(running)
  return running.daemon
}

const practiseWith = (boot: BootDocument, { connections, program }: Begin): Promise<void> => {
  const { configuration } = boot
  const environment = { ...configuration.environment, ...practiceEnvironment }
  const config = configure({ ...boot, configuration: { ...configuration, environment } })
  return practiseAll(config, { boot, connections, program, nodeInternals, clock, log })
}

const run = async (inherited: Inherited, program: Program, running: Running, stop: Closing): Promise<void> => {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void stop.close().then(() => process.exit(0)))
  guardStopSignals(process.pid)
  const boot = receiveBoot(env, inherited)
  const connections = createConnections({ keyed: boot !== undefined })
  const around = { connections, program, running }
  if (boot?.machine.anonymous) await practiseWith(boot, around)
  const daemon = await begin(boot, inherited, around)
  const { config } = daemon.core
  stop.add('daemon', async () => running.daemon?.close())
  // Before the port of the API, by which the host sees that the daemon is up. A rehearsal is asked by its daemon only.
  const channel =
    boot && !config.rehearsal ? openChannel(boot, { connections, inherited, accept: nodeInternals.accept }) : undefined
  let listening: Listening | undefined
  const socket = createListeningSocket(openSocket(config, inherited), () => listening)
  const { bounds } = daemon.dispatcher
  const current: Dispatcher = {
    bounds,
    dispatch: (request, client) => (running.daemon ?? daemon).dispatcher.dispatch(request, client),
  }
  const server = nodeInternals.serve(current, { log, clock, begun: () => running.idleGc.begun() })
  listening = await listen(server, { fd: socket.forServer() }, nodeInternals.accept)
  if (boot) listening.server.maxConnections = mostTenantConnections
  await channel?.serve(listening.server)
  const entrances = createEntrances(socket, channel?.socket)
  running.entrances = entrances
  stop.add('http', async () => {
    entrances.close()
    channel?.close()
    await listening.close(10_000)
  })
  log.info('daemon.listening', { port: listening.port, channel: channel?.port })
  if (boot?.machine.anonymous) collectYoung()
}

const main = async (): Promise<void> => {
  if (switches.unknown.length > 0) log.warn('node-internals.unknown', { names: switches.unknown })
  protectDaemon({ log, pid: process.pid })
  lockBundles(process.argv[1])
  if (privateFd(env) !== undefined && !receivePrivatePlace(env)) {
    log.warn('daemon.no-private-place', { next: 'start the sandbox again, when its disk is not full' })
    Object.assign(env, privatePlaceAt(undefined))
  }
  nodeInternals.limitParserPool()
  const inherited = receiveHandover(env)
  const running: Running = { entrances: undefined, daemon: undefined, idleGc: unwatched }
  const program = createProgram({
    args,
    env,
    socket: () => running.entrances,
    boot: () => running.daemon?.core.hostConfiguration.document(),
  })
  const stop = closing({ log })
  const failed = async (error: unknown): Promise<void> => {
    log.error('daemon.failed', { error })
    try {
      program.rollBack(inherited, messageOf(error))
    } catch (failure) {
      log.error('daemon.back-failed', { error: failure })
    }
    // What was started by then, such as the command of `-c`, must not outlive a daemon that never came up.
    await stop.close()
    process.exit(1)
  }
  const uncaught = (error: unknown) => void failed(error)
  process.once('uncaughtException', uncaught)
  try {
    await run(inherited, program, running, stop)
    process.off('uncaughtException', uncaught)
  } catch (error) {
    await failed(error)
  }
}

void main()

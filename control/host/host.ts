/**
 * Composition root of the host: everything is made here, once, and closed in reverse. Machines outlive it: the next start
 * finds and adopts them. What listens (API, gateway, pages, TLS) is loaded when it is first asked for: `server.ts`.
 */
import { closing, type Closing } from '../../shared/closing.ts'
import { isError } from '../../shared/errors.ts'
import type { Bootstrap } from '../core/access/bootstrap.ts'
import { buildingOf, withRules, type Building } from './builds.ts'
import type { Connections } from '../core/channel/connections.ts'
import type { Config } from '../base/config.ts'
import type { Drivers } from '../drivers/drivers.ts'
import type { MachineDrives } from '../core/storage/drives/machine-drives.ts'
import { openDrives } from '../core/storage/drives/open.ts'
import { createAddresses } from './addresses.ts'
import { createKeyUses } from '../core/access/key-uses.ts'
import { sharableImages } from '../core/kinds/listed-images.ts'
import { keepCheckpoints } from '../core/metering/checkpoints.ts'
import type { Server, WrittenListener } from './server.ts'
import { drainOf } from '../ops/drain.ts'
import { entryBy } from './entry.ts'
import { answerTheOperator } from './operator.ts'
import { modelsOf } from './models.ts'
import { kindsOf, rulesByName, verbsOf, type KindsByName, type Verbs } from './kinds.ts'
import { imageUpkeep } from '../core/images/upkeep/upkeep.ts'
import type { Images } from '../core/images/images.ts'
import { createConfigurer, type Grow } from '../core/machines/configure.ts'
import { keepAliveCount } from '../core/machines/keep-alive.ts'
import { createRunner, type Runner } from '../core/machines/runner.ts'
import { claimDaemonBy } from '../core/machines/spare.ts'
import { teller } from '../core/machines/tell.ts'
import { askToEnd } from '../core/machines/terminate.ts'
import { createMetrics, type Metrics } from '../ops/metrics/metrics.ts'
import { notingLog } from '../ops/metrics/noting-log.ts'
import { createOutbound, type Outbound } from '../network/outbound/outbound.ts'
import { openWayOut } from '../network/outbound/way-out.ts'
import type { Models } from '../core/models/open.ts'
import { createProviders } from '../core/catalogues/providers.ts'
import { openParts, type HostDeps, type Parts } from './parts.ts'
import { changes } from '../core/transitions/changes.ts'
import { diskRoom } from '../core/transitions/disk-room.ts'
import type { RulesByKind } from '../core/transitions/rules.ts'
import { transition } from '../core/transitions/transition.ts'
import { waitingLine } from '../core/transitions/waiting-line.ts'
import type { CrudDeps } from '../core/records/crud.ts'
import { createSnapshots } from '../core/kinds/sandbox/snapshots/service.ts'
import { commonEnvironment } from '../core/kinds/sandbox/environment.ts'
import type { Store, Written } from '../core/store/store.ts'
import { sandboxSchedules, settleRuns } from '../core/scheduler/sandbox-schedules.ts'
import { createScheduler } from '../core/scheduler/scheduler.ts'
import { createDns } from '../base/dns.ts'
import { plainDriveKind } from '../core/kinds/drive.ts'
import { volumeTemplateKind } from '../core/kinds/volume-template.ts'
import { openVolumes } from '../core/storage/volumes/open.ts'
import type { TemplateContents } from '../core/storage/volumes/templates.ts'
import { openWarm } from '../core/machines/warm/open.ts'
import type { Cursors } from '../base/wire/cursors.ts'

export type { HostDeps } from './parts.ts'
export type { Verbs } from './kinds.ts'

export interface Host {
  readonly verbs: Verbs
  readonly store: Store
  readonly drivers: Drivers
  readonly images: Images
  readonly runner: Runner
  readonly cursors: Cursors
  readonly connections: Connections
  /** Undefined when no drives are configured. */
  readonly drives: MachineDrives | undefined
  /** Where uploads of volume templates go. */
  readonly templates: TemplateContents
  readonly first: Bootstrap
  /** Management API, gateway and pages, loaded and made at the first call; nothing listens yet. */
  server(): Promise<Server>
  /** Serves them on one port; resolves with the address. */
  listen(): ReturnType<Server['listen']>
  /** Stops serving and looking after; machines run on. */
  close(): Promise<void>
}

/** What looks after machines, and what it and the verbs write with. */
const running = async (
  config: Config,
  parts: Parts,
  deps: { kinds: KindsByName; building: Building; outbound: Outbound | undefined; metrics: Metrics; models: Models },
  closer: Closing,
) => {
  const { store, clock, connections, kinds, building, outbound, metrics, models } = { ...parts, ...deps }
  const draining = drainOf(config.dataDir)
  const environmentOf = (image: Parameters<typeof commonEnvironment>[1]) => commonEnvironment(parts.names, image)
  const warm = await openWarm(config, { ...parts, draining, environmentOf }, closer)
  const rules: RulesByKind = withRules(kinds, [...building.rules, warm.rules])
  const waiting = changes()
  const grow: Grow = async ({ id, driver }, mb) => parts.drivers.need(driver).storage?.grow(id, mb)
  const configurer = createConfigurer({ ...parts, rules, tell: teller(connections), grow })
  const line = waitingLine({ rules, clock })
  const { storage } = parts.drivers.preferred
  const room = storage && diskRoom({ storage })
  const volumes = openVolumes({ ...parts, templateKind: volumeTemplateKind.kind, transition: () => move }, closer)
  const builds = await building.open({ kinds, transition: () => move, runner: () => runner }, closer)
  const told = [outbound, configurer, line, room, warm, volumes.keeper, models.deployer, builds]
  const listeners: WrittenListener[] = told.filter(one => one !== undefined)
  const written = (all: Written): void => listeners.forEach(listener => listener.written(all))
  const move = transition({ store, clock, rules, changes: waiting, written })
  const moving = { rules, transition: move, changes: waiting }
  const runner = createRunner({
    ...parts,
    ...moving,
    closing: closer,
    configurer,
    onDown: connections.forget,
    onWaiting: line.leave,
    spare: warm.spare,
    claimDaemon: claimDaemonBy(connections),
    expectUse: (address, withinMs) => connections.expect({ address }, withinMs),
    observer: metrics.observer,
    keepAlive: (address, sleeps) => keepAliveCount(connections, address, sleeps),
    askToEnd: address => askToEnd(connections, address),
  })
  const snapshots = createSnapshots({ ...parts, ...runner, ...moving }, closer)
  const sources = [sandboxSchedules({ ...parts, hold: () => runner.hold, transition: () => move })]
  const scheduler = createScheduler({ ...parts, sources }, closer)
  listeners.push(scheduler, snapshots)
  outbound?.wakeBy(async (record, signal) => (await runner.hold(record, signal)).release)
  const start = async (): Promise<void> => {
    await warm.load({ transition: move, line })
    await volumes.keeper?.start()
    await snapshots.around(runner.start)
    await models.deployer.start()
    warm.begin(runner.poke)
    await builds.begin()
    await settleRuns(store, move)
    await scheduler.begin(move)
  }
  const entry = entryBy({ draining, line, room })
  const tell = (listener: WrittenListener): void => void listeners.push(listener)
  const { templates } = volumes
  return { move, waiting, runner, entry, warm, start, draining, tell, templates, builds, snapshots }
}

/** Billing plan shown in metadata: there is one, the box itself. */
const plan = 'self-hosted'

/** What the verbs ask besides records. */
const outsideOf = (
  config: Config,
  parts: Parts,
  { recorder, reads }: Pick<Models, 'recorder' | 'reads'>,
): Pick<CrudDeps, 'plan' | 'dns' | 'quotas' | 'sharable' | 'providers' | 'modelCalls'> => ({
  plan,
  modelCalls: recorder,
  dns: createDns(config.dnsResolvers),
  quotas: config.quotas,
  sharable: sharableImages(parts.images, parts.images.pulling.remove),
  providers: createProviders(config.providers, { ...parts, reads }),
})

/** Loads what listens, and makes it; a second call answers the same. */
const serverOnce = (make: () => Promise<Server>): (() => Promise<Server>) => {
  let made: Promise<Server> | undefined
  return () => (made ??= make())
}

const compose = async (config: Config, parts: Parts, metrics: Metrics, closer: Closing): Promise<Host> => {
  const { clock, log, store } = parts
  const later = { publicUrl: () => addresses.publicUrl(), transition: () => move, snapshots: () => snapshots }
  const keyUses = createKeyUses({ tenants: store.tenants, clock, log }, closer)
  const models = await modelsOf(config, parts, metrics, later.transition, closer)
  const wayOut = await openWayOut(config, parts, closer)
  const kinds = await kindsOf(config, { ...parts, ...later }, wayOut)
  const rules = rulesByName(kinds)
  const building = await buildingOf(config, { ...parts, publicUrl: later.publicUrl }, wayOut)
  const outbound = wayOut && createOutbound({ ...wayOut, rules: withRules(rules, building.rules), store, log })
  await outbound?.load()
  const deps = { kinds: rules, building, outbound, metrics, models }
  const ran = await running(config, parts, deps, closer)
  const { move, runner, entry, start, snapshots } = ran
  const addresses = createAddresses(config, rules)
  const verbs = verbsOf(kinds, {
    ...parts,
    kinds: rules,
    transition: move,
    entry,
    keyUses,
    poke: runner.poke,
    ...addresses,
    ...outsideOf(config, parts, models),
  })
  const upkeep = imageUpkeep({ ...parts, rules }, closer)
  const drives = await openDrives(config, { ...parts, driveKind: plainDriveKind.kind })
  const meterLagMs = keepCheckpoints({ meter: store.meter, clock, log }, closer)
  await start()
  answerTheOperator(config, parts, runner)
  const server = serverOnce(async () => {
    const { createServer } = await import('./server.ts')
    const core = {
      addresses,
      drives,
      keyUses,
      kinds,
      meterLagMs,
      metrics,
      models,
      outbound,
      rules,
      upkeep,
      verbs,
      wayOut,
    }
    return createServer(config, parts, { ...core, ...ran }, closer)
  })
  return {
    ...parts,
    verbs,
    runner,
    drives,
    templates: ran.templates,
    server,
    listen: async () => (await server()).listen(),
    close: closer.close,
  }
}

/** Opens everything; a failure half-way closes what was opened. Throws what says which part is missing and what to do. */
export const createHost = async (config: Config, deps: HostDeps): Promise<Host> => {
  const metrics = createMetrics()
  const log = notingLog(deps.log, metrics.noted)
  const closer = closing({ log, boundMs: 30_000 })
  try {
    return await compose(config, await openParts(config, { ...deps, log }, closer), metrics, closer)
  } catch (error) {
    if (!isError(error)) log.error('host.failed', { error })
    await closer.close()
    throw error
  }
}

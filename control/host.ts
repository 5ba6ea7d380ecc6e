/**
 * Composition root of the host: everything is made here, once, and closed in reverse. Machines outlive it: the next start
 * finds and adopts them.
 */
import { closing, type Closing } from '../shared/closing.ts'
import { fail, isError } from '../shared/errors.ts'
import type { Dispatcher } from '../shared/http/dispatch.ts'
import { sharableImages } from './api/images.ts'
import { createApi } from './api/index.ts'
import { knownAddresses } from './api/known-addresses.ts'
import { rootAddresses } from './api/root-addresses.ts'
import type { Bootstrap } from './bootstrap.ts'
import { createPeople } from './browser/people.ts'
import type { Connections } from './channel/connections.ts'
import type { Config } from './config.ts'
import type { Drivers } from './drivers/drivers.ts'
import type { MachineDrives } from './drives/machine-drives.ts'
import { openDrives } from './drives/open.ts'
import { abilitiesOf } from './abilities.ts'
import { createAddresses } from './addresses.ts'
import { drainOf } from './drain.ts'
import { frontListener } from './front.ts'
import { gatewayOf } from './host-gateway.ts'
import { answerTheOperator } from './host-operator.ts'
import { callersOf } from './host-callers.ts'
import { furtherRoutes } from './host-watch.ts'
import { kindsOf, rulesByName, verbsOf, type KindsByName, type Verbs } from './host-kinds.ts'
import { imageUpkeep } from './image-upkeep/upkeep.ts'
import type { Images } from './images/images.ts'
import { createConfigurer, type Grow } from './instances/configure.ts'
import { keepAliveCount } from './instances/keep-alive.ts'
import { createRunner, type Runner } from './instances/runner.ts'
import { claimDaemonBy } from './instances/spare.ts'
import { teller } from './instances/tell.ts'
import { askToEnd } from './instances/terminate.ts'
import { createMetrics, type Metrics } from './metrics/metrics.ts'
import { notingLog } from './metrics/noting-log.ts'
import { createOutbound, type Outbound } from './outbound/outbound.ts'
import { openWayOut } from './outbound/way-out.ts'
import { openDomains } from './previews/domains.ts'
import { openPreviews } from './previews/open.ts'
import { createProviders } from './providers.ts'
import { openParts, type HostDeps, type Parts } from './parts.ts'
import { changes } from './reconcile/changes.ts'
import { diskRoom, type DiskRoom } from './reconcile/disk-room.ts'
import type { Rules, RulesByKind } from './reconcile/rules.ts'
import { transition } from './reconcile/transition.ts'
import { waitingLine, type WaitingLine } from './reconcile/waiting-line.ts'
import type { Entry } from './resources/context.ts'
import type { CrudDeps } from './resources/crud.ts'
import { workspaceRemover } from './resources/remove-workspace.ts'
import { serveFront, type Served } from './serving.ts'
import { commonEnvironment } from './sandbox/environment.ts'
import type { Store, Written } from './store/store.ts'
import { createDns } from './dns.ts'
import { openWarm } from './warm/open.ts'
import type { Cursors } from './wire/cursors.ts'

export type { HostDeps } from './parts.ts'
export type { Verbs } from './host-kinds.ts'

export interface Host {
  readonly api: Dispatcher
  readonly verbs: Verbs
  readonly store: Store
  readonly drivers: Drivers
  readonly images: Images
  readonly runner: Runner
  readonly cursors: Cursors
  readonly connections: Connections
  /** Undefined when no drives are configured. */
  readonly drives: MachineDrives | undefined
  readonly first: Bootstrap
  /** Serves management API and gateway on one port; resolves with the address. */
  listen(): Promise<{ url: string } & Served>
  /** Stops serving and looking after; machines run on. */
  close(): Promise<void>
}

/** Whether a create is let in, by all that may say no. */
const entryBy = (deps: { draining: () => boolean; line: WaitingLine; room: DiskRoom | undefined }): Entry => ({
  async admit({ workspace, uid, storageMb }) {
    const { draining, line, room } = deps
    if (draining()) throw fail('draining', { retryAfterS: 30 })
    line.admit(workspace)
    // At once: a burst is let in before the first of it is written.
    line.join(uid, workspace)
    try {
      if (storageMb !== undefined) await room?.admit(uid, storageMb)
    } catch (error) {
      line.leave(uid)
      throw error
    }
  },
  leave(uid) {
    deps.line.leave(uid)
    deps.room?.leave(uid)
  },
  async grow(moreMb) {
    await deps.room?.check(moreMb)
  },
})

/** What looks after machines, and what it and the verbs write with. */
const running = async (
  config: Config,
  parts: Parts,
  deps: { kinds: KindsByName; outbound: Outbound | undefined; metrics: Metrics },
  closer: Closing,
) => {
  const { store, clock, connections } = parts
  const { kinds, outbound, metrics } = deps
  const domains = await openDomains(store, config)
  const draining = drainOf(config.dataDir)
  const warm = await openWarm(
    config,
    { ...parts, draining, environmentOf: image => commonEnvironment(parts.names, image) },
    closer,
  )
  const rules: RulesByKind = new Map<string, Rules>([...kinds, [warm.rules.kind, warm.rules]])
  const waiting = changes()
  const grow: Grow = async ({ id, driver }, mb) => parts.drivers.need(driver).storage?.grow(id, mb)
  const configurer = createConfigurer({ ...parts, rules, tell: teller(connections), grow })
  const line = waitingLine({ rules, clock })
  const { storage } = parts.drivers.preferred
  const room = storage && diskRoom({ storage })
  const written = (all: Written): void => {
    for (const told of [outbound, configurer, line, room, warm, domains]) told?.written(all)
  }
  const move = transition({ store, clock, rules, changes: waiting, written })
  const runner = createRunner({
    ...parts,
    closing: closer,
    rules,
    transition: move,
    changes: waiting,
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
  outbound?.wakeBy(async (record, signal) => (await runner.hold(record, signal)).release)
  const start = async (): Promise<void> => {
    await warm.load({ transition: move, line })
    await runner.start()
    warm.begin(runner.poke)
  }
  const entry = entryBy({ draining, line, room })
  return { move, runner, entry, warm, start, draining, domains }
}

/** Billing plan shown in metadata: there is one, the box itself. */
const plan = 'self-hosted'

/** What the verbs ask besides records. */
const outsideOf = (config: Config, parts: Parts): Pick<CrudDeps, 'dns' | 'quotas' | 'sharable' | 'providers'> => ({
  dns: createDns(config.dnsResolvers),
  quotas: config.quotas,
  sharable: sharableImages(parts.images, parts.images.pulling.remove),
  providers: createProviders(config.providers, parts),
})

const compose = async (config: Config, parts: Parts, metrics: Metrics, closer: Closing): Promise<Host> => {
  const { log, store } = parts
  const later = { publicUrl: () => addresses.publicUrl(), transition: () => move }
  const callers = await callersOf(config, parts, later, closer)
  const wayOut = await openWayOut(config, parts, closer)
  const kinds = await kindsOf(config, { ...parts, ...later }, wayOut)
  const rules = rulesByName(kinds)
  const outbound = wayOut && createOutbound({ ...wayOut, rules, store, log })
  await outbound?.load()
  const deps = { kinds: rules, outbound, metrics }
  const { move, runner, entry, warm, start, draining, domains } = await running(config, parts, deps, closer)
  const addresses = createAddresses(config, rules)
  const verbs = verbsOf(kinds, {
    ...parts,
    kinds: rules,
    transition: move,
    entry,
    keyUses: callers.uses,
    poke: runner.poke,
    url: addresses.url,
    plan,
    domain: addresses.domain,
    ...outsideOf(config, parts),
  })
  const upkeep = imageUpkeep({ ...parts, rules }, closer)
  const people = createPeople({ ...parts, ...addresses, rules, sandboxDomain: config.sandboxDomain })
  const api = createApi({
    ...parts,
    ...people,
    ...callers,
    upkeep,
    publicUrl: addresses.publicUrl,
    apiVersions: config.apiVersions,
    removeWorkspace: workspaceRemover({ transition: move, poke: runner.poke }),
    verbs: Object.values(verbs),
    outbound: outbound?.engine,
    abilities: abilitiesOf(config, parts, wayOut),
    routes: furtherRoutes(config, { ...parts, ...callers }, { metrics, kinds: rules, runner, warm, draining }, closer),
    logRequests: true,
  })
  const drives = await openDrives(config, parts)
  const plane = gatewayOf(config, parts, { rules, runner, callers, outbound, people, drives, metrics })
  const previews = openPreviews(config, { ...parts, ...people, ...callers, ...runner, domains, kinds: rules })
  await start()
  answerTheOperator(config, parts, runner)
  return {
    ...parts,
    api,
    verbs,
    runner,
    drives,
    async listen() {
      const rootAddress = rootAddresses(Object.values(kinds), knownAddresses)
      const front = frontListener({ ...callers, api, people, gateway: plane, previews, rootAddress, log })
      const served = await serveFront(config, front, { ...parts, ...people, ...previews }, closer)
      return { url: addresses.listening(served.port), ...served }
    },
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

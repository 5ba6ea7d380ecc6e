/**
 * Composition root of the host: everything is made here, once, and closed in reverse. Machines outlive it: the next start
 * finds and adopts them.
 */
import { closing, type Closing } from '../shared/closing.ts'
import { isError } from '../shared/errors.ts'
import type { Dispatcher } from '../shared/http/dispatch.ts'
import { listen } from '../shared/http/listen.ts'
import { wireNames as spellings } from '../shared/wire-names.ts'
import { billingRoutes } from './api/billing.ts'
import { imageNamed } from './api/images.ts'
import { createApi } from './api/index.ts'
import type { Abilities } from './api/places.ts'
import { createDenials } from './audit/denials.ts'
import { rootAddresses } from './api/root-addresses.ts'
import { createKeyUses } from './auth/key-uses.ts'
import { createKeys, type Keys } from './auth/keys.ts'
import { personalKeys } from './auth/personal-keys.ts'
import { keepCheckpoints } from './billing/checkpoints.ts'
import type { Bootstrap } from './bootstrap.ts'
import type { Connections } from './channel/connections.ts'
import type { Config } from './config.ts'
import type { Drivers } from './drivers/drivers.ts'
import { openDrives } from './drives/open.ts'
import { frontServer } from './front.ts'
import { forwarder } from './gateway/forward.ts'
import { gateway, type Gateway } from './gateway/gateway.ts'
import { withoutTunnels } from './gateway/no-tunnel.ts'
import { resolver } from './gateway/resolve.ts'
import { workloadUrl } from './gateway/url.ts'
import { defaultImage } from './images/default.ts'
import type { Images } from './images/images.ts'
import { keepAliveCount } from './instances/keep-alive.ts'
import { createRunner, type Runner } from './instances/runner.ts'
import { createKinds, type Kinds } from './kinds/index.ts'
import { listenFailure, publicUrlOf } from './listening.ts'
import { createOutbound, type Outbound } from './outbound/outbound.ts'
import { openWayOut, type WayOut } from './outbound/way-out.ts'
import type { Previews } from './previews/serve.ts'
import { openPreviews, previewUrlOf } from './previews/open.ts'
import { openParts, type HostDeps, type Parts } from './parts.ts'
import { changes } from './reconcile/changes.ts'
import { transition } from './reconcile/transition.ts'
import { crud, type Crud, type CrudDeps } from './resources/crud.ts'
import type { Kind } from './resources/kind.ts'
import { workspaceRemover } from './resources/remove-workspace.ts'
import type { Resource, Store } from './store/store.ts'
import { txtRecords } from './dns.ts'
import { createProviders } from './providers.ts'
import type { Cursors } from './wire/cursors.ts'

export type { HostDeps } from './parts.ts'

/** What can be done with each kind, without HTTP. */
export type Verbs = Readonly<Record<keyof Kinds, Crud>>

export interface Host {
  readonly api: Dispatcher
  readonly verbs: Verbs
  readonly store: Store
  readonly drivers: Drivers
  readonly images: Images
  readonly runner: Runner
  readonly cursors: Cursors
  readonly connections: Connections
  readonly first: Bootstrap
  /** Serves management API and gateway on one port; resolves with the address. */
  listen(): Promise<{ url: string; port: number }>
  /** Stops serving and looking after; machines run on. */
  close(): Promise<void>
}

/** Billing plan shown in metadata: there is one, the box itself. */
const plan = 'self-hosted'

const kindsOf = (config: Config, { images, sealer, names, store }: Parts, wayOut: WayOut | undefined): Kinds =>
  createKinds({
    images,
    sealer,
    names,
    store,
    wireNames: config.wireNames.map(({ header, short, image }) => `${header}:${short}:${image}`).join(','),
    regions: config.regions,
    defaultImage: () => defaultImage(images, names.imageName('base-image:latest')),
    egressRules: wayOut !== undefined,
    wayOut,
    standbyAfterMs: config.standbyAfterMs,
  })

const abilitiesOf = ({ regions, drivesDir }: Config, wayOut: WayOut | undefined): Abilities => ({
  regions,
  drives: drivesDir !== '',
  outboundPolicies: wayOut !== undefined,
})

/** What the verbs ask besides records. */
const outsideOf = (config: Config, parts: Parts): Pick<CrudDeps, 'txtRecords' | 'image' | 'providers'> => ({
  txtRecords,
  image: (workspace, named) => imageNamed(parts.images, workspace, named),
  providers: createProviders(config.providers, parts),
})

type KindsByName = ReadonlyMap<string, Kind>

/** What looks after machines, and what it and the verbs write with. */
const running = (parts: Parts, deps: { rules: KindsByName; outbound: Outbound | undefined }, closer: Closing) => {
  const { store, clock, connections } = parts
  const { rules, outbound } = deps
  const waiting = changes()
  const move = transition({ store, clock, rules, changes: waiting, written: outbound?.written })
  const runner = createRunner({
    ...parts,
    closing: closer,
    rules,
    transition: move,
    changes: waiting,
    onDown: connections.forget,
    keepAlive: address => keepAliveCount(connections, address),
  })
  return { move, runner }
}

const verbsOf = (kinds: Kinds, deps: CrudDeps): Verbs =>
  Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, crud(kind, deps)])) as unknown as Verbs

/** What leads to machines. */
const dataPlanes = async (
  config: Config,
  parts: Parts,
  deps: { rules: KindsByName; runner: Runner; keys: Keys; outbound: Outbound | undefined },
): Promise<{ gateway: Gateway; previews: Previews }> => {
  const { store, names, connections } = parts
  const { rules, runner, keys, outbound } = deps
  const forms = [...rules.values()].flatMap(({ kind, plural, dataPlane }) =>
    dataPlane ? [{ kind, plural, label: dataPlane.label, scope: dataPlane.scope }] : [],
  )
  const { regions, wireNames } = config
  const answers = withoutTunnels(uid => outbound?.holds(uid) ?? false, await openDrives(config, parts))
  const plane = gateway(
    { forms, regions, names: spellings(wireNames), credentialHeaders: names.credentialHeaders },
    {
      ...parts,
      resolve: resolver({ store, rules }),
      hold: runner.hold,
      forwarder: forwarder(connections),
      keys,
      answers,
    },
  )
  return { gateway: plane, previews: openPreviews(config, { ...parts, kinds: rules, hold: runner.hold }) }
}

/** Who may call, and how that is given out. */
const keysOf = ({ store: { tenants, audit }, clock, ids, log }: Parts, closer: Closing) => {
  const uses = createKeyUses({ tenants, clock, log }, closer)
  return {
    uses,
    keys: createKeys({ tenants, clock, uses }),
    personal: personalKeys({ tenants, clock, ids, uses }),
    denials: createDenials({ audit, clock, log }, closer),
  }
}

/** Where a record is reached; undefined for what has no address. */
const urlOf = (
  record: Resource,
  known: { config: Config; rules: KindsByName; publicUrl: string },
): string | undefined => {
  const { config, rules, publicUrl } = known
  const { plural = '', dataPlane } = rules.get(record.kind) ?? {}
  if (!dataPlane) return previewUrlOf(record, publicUrl, config)
  return workloadUrl(record, { plural, dataPlane }, { publicUrl, sandboxDomain: config.sandboxDomain })
}

const compose = async (config: Config, parts: Parts, closer: Closing): Promise<Host> => {
  const { clock, log, store, names, cursors } = parts
  const { uses, keys, personal, denials } = keysOf(parts, closer)
  const wayOut = await openWayOut(config, parts, closer)
  const kinds = kindsOf(config, parts, wayOut)
  const rules: KindsByName = new Map(Object.values(kinds).map(kind => [kind.kind, kind]))
  const outbound = wayOut && createOutbound({ ...wayOut, rules, store, log })
  await outbound?.load()
  const { move, runner } = running(parts, { rules, outbound }, closer)
  let publicUrl = publicUrlOf(config, config.port)
  const domain = () => config.sandboxDomain || new URL(publicUrl).hostname
  const verbs = verbsOf(kinds, {
    ...parts,
    kinds: rules,
    transition: move,
    keyUses: uses,
    poke: runner.poke,
    url: record => urlOf(record, { config, rules, publicUrl }),
    plan,
    domain,
    ...outsideOf(config, parts),
  })
  const api = createApi({
    ...parts,
    names,
    keys,
    denials,
    personalKeys: personal,
    removeWorkspace: workspaceRemover({ transition: move, poke: runner.poke }),
    verbs: Object.values(verbs),
    outbound: outbound?.engine,
    abilities: abilitiesOf(config, wayOut),
    routes: billingRoutes({ store, clock, cursors, prices: config.prices }),
    logRequests: true,
  })
  const planes = await dataPlanes(config, parts, { rules, runner, keys, outbound })
  await runner.start()
  keepCheckpoints({ meter: store.meter, clock, log }, closer)
  return {
    ...parts,
    api,
    verbs,
    runner,
    async listen() {
      const front = frontServer({ api, ...planes, rootAddress: rootAddresses(Object.values(kinds)), log })
      const listening = await listen(front, config).catch(error => {
        throw listenFailure(error, config)
      })
      closer.add('http', () => listening.close(5_000))
      publicUrl = publicUrlOf(config, listening.port)
      return { url: publicUrl, port: listening.port }
    },
    close: closer.close,
  }
}

/** Opens everything; a failure half-way closes what was opened. Throws what says which part is missing and what to do. */
export const createHost = async (config: Config, deps: HostDeps): Promise<Host> => {
  const { log } = deps
  const closer = closing({ log, boundMs: 30_000 })
  try {
    return await compose(config, await openParts(config, deps, closer), closer)
  } catch (error) {
    if (!isError(error)) log.error('host.failed', { error })
    await closer.close()
    throw error
  }
}

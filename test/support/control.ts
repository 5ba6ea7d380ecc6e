/** A management API to test against, in this process: real store in a directory of its own, a clock that stands still. */
import { join } from 'node:path'
import type { Test } from 'tap'
import { createCursors } from '../../control/base/wire/cursors.ts'
import { sharableImages } from '../../control/core/kinds/listed-images.ts'
import { createApi } from '../../control/server/api/index.ts'
import { invitationRoutes } from '../../control/server/api/invitations.ts'
import { scheduleRoutes } from '../../control/server/api/schedules.ts'
import { oauthRoutes } from '../../control/server/api/oauth.ts'
import { createInvitations } from '../../control/core/access/invitations.ts'
import { createIdentity } from '../../control/server/access/identity/identity.ts'
import { healthRoutes } from '../../control/server/api/health.ts'
import { warmRoutes } from '../../control/server/api/warm.ts'
import { wireNames, type WireNames } from '../../control/base/wire/names.ts'
import { billingRoutes } from '../../control/server/api/billing.ts'
import { bootstrap } from '../../control/core/access/bootstrap.ts'
import { createLogins } from '../../control/server/proxy/gateway/logins.ts'
import { openCatalogues } from '../../control/core/catalogues/catalogues.ts'
import { createKinds } from '../../control/core/kinds/index.ts'
import { changes } from '../../control/core/transitions/changes.ts'
import { driversOf } from '../../control/drivers/drivers.ts'
import { fakeDriver } from '../../control/drivers/fake/index.ts'
import { diskRoom } from '../../control/core/transitions/disk-room.ts'
import { transition, type Transition } from '../../control/core/transitions/transition.ts'
import { crud } from '../../control/core/records/crud.ts'
import type { Kind } from '../../control/core/records/kind.ts'
import { connectionReads } from '../../control/core/models/connection-reads.ts'
import { createReach } from '../../control/core/models/reach.ts'
import { createAccessTokens } from '../../control/core/models/tokens.ts'
import { createProviders } from '../../control/core/catalogues/providers.ts'
import { createSealer, type Sealer } from '../../control/core/secrets/secrets.ts'
import { openStore } from '../../control/core/store/sqlite/open.ts'
import type { ApiKey, Resource, WritableStore } from '../../control/core/store/store.ts'
import { createDenials } from '../../control/server/access/audit/denials.ts'
import { createKeyUses } from '../../control/core/access/key-uses.ts'
import { createKeys, hashKey } from '../../control/core/access/keys.ts'
import { personalKeys } from '../../control/core/access/personal-keys.ts'
import { createStanding } from '../../control/core/access/standing.ts'
import { workspaceRemover } from '../../control/core/records/remove-workspace.ts'
import { closing } from '../../shared/closing.ts'
import { fail } from '../../shared/errors.ts'
import type { Dispatcher } from '../../shared/http/dispatch.ts'
import { call, type Answer, type CallOptions } from './call.ts'
import { randomIds } from '../../shared/ids.ts'
import { silentLog } from '../../shared/log.ts'
import type { Bound } from '../../shared/route.ts'
import { fakeClock, type FakeClock } from './clock.ts'
import { addressPool } from '../../control/network/outbound/address-pool.ts'

export interface ControlOptions {
  /** Default true: what is stored of network rules is tested whether or not a host enforces them. */
  readonly egressRules?: boolean
  /** Addresses for egress gateways; no gateways unless given. */
  readonly egressAddresses?: readonly string[]
  /** What DNS says, by name. */
  readonly txtRecords?: ReadonlyMap<string, string[]>
  /** Names that do not lead to this host. */
  readonly leadElsewhere?: ReadonlySet<string>
  /** Origins that connections may lead to. */
  readonly providers?: readonly string[]
  /** Kinds besides those of the host. */
  readonly kinds?: readonly Kind[]
  readonly wireNames?: Parameters<typeof wireNames>[0]
  readonly apiVersions?: Parameters<typeof createApi>[0]['apiVersions']
  readonly checkReplies?: boolean
  /** USD per unit of each billing dimension. */
  readonly prices?: Readonly<Record<string, number>>
  /** Invitations are written down as mails. */
  readonly sendsMail?: boolean
  readonly quotas?: Readonly<Record<string, number>>
  /** Whether machines have disks with an end; default true. */
  readonly disks?: boolean
  /** Whether the host has a directory of drives; default false. */
  readonly drives?: boolean
  /** Whether the driver has volumes; default true. */
  readonly volumes?: boolean
  /** MB of the disk that may be promised; any number unless given. */
  readonly diskMb?: number
  /** Further routes. */
  readonly routes?: readonly Bound[]
}

export interface TestControl {
  /** Calls `/v0{target}` as the admin at the newest version; headers given win, `authorization: ''` sends none. */
  readonly call: (method: string, target: string, body?: unknown, options?: CallOptions) => Promise<Answer>
  readonly api: Dispatcher
  readonly store: WritableStore
  readonly transition: Transition
  readonly key: string
  readonly clock: FakeClock
  readonly names: WireNames
  readonly sealer: Sealer
  readonly dataDir: string
  /** `kind/uid` of every poke, in order. */
  readonly poked: string[]
  /** Every kind of the host, by its name. */
  readonly kinds: ReadonlyMap<string, Kind>
  /** Adds a key of the default account and returns it. */
  readonly addKey: (key: Partial<ApiKey>) => Promise<string>
  readonly addWorkspace: (name: string, account?: string) => Promise<string>
}

export const knownImages = ['svc/base-image:latest', 'svc/other:latest']

/** Knows two images and refuses the rest as the image store does. */
const images = {
  async list() {
    const names = ['base', 'tools:1', 'tools:2', 'localhost:5000/team/app:1']
    return names.map(name => ({
      name,
      digest: 'd',
      rootfs: '/',
      env: {},
      workdir: '/',
      user: '',
      command: [],
      labels: {},
    }))
  },
  async resolve(reference: string) {
    if (!knownImages.includes(reference)) throw fail('invalid_image', { requested: reference, supported: knownImages })
    return { name: reference, digest: 'd', rootfs: '/', env: {}, workdir: '/', user: '', command: [], labels: {} }
  },
  async check(reference: string) {
    await images.resolve(reference)
  },
  need: (reference: string) => images.resolve(reference),
  byDigest: async () => undefined,
  shared: async () => [],
  offered: async () => new Set<string>(),
  built: {
    get: async () => undefined,
    list: async () => [],
    workspaces: async () => [],
    every: async () => [],
    take: async () => Promise.reject(new Error('nothing is built')),
    name: async () => Promise.reject(new Error('nothing is built')),
    remove: async () => undefined,
  },
  pulling: {
    list: async () => [],
    underWay: () => [],
    progress: () => undefined,
    follow: () => () => undefined,
  },
}

/** Takes no uploads, though it says where to send them. */
const builds = {
  slot: () => ({ id: 'slot', expiresAt: 2 ** 40 }),
  url: ({ name }: { name: string }) => `http://run.test/uploads/${name}`,
  receive: async () => undefined,
  image: async () => undefined,
  images: async () => [],
  forget: async () => undefined,
  log: async () => undefined,
}

/** Nothing was pulled. */
const upkeep = { removeUnused: async () => 0, remove: async () => undefined, removeBuilt: async () => undefined }

export const control = async (t: Test, options: ControlOptions = {}): Promise<TestControl> => {
  const dataDir = t.testdir()
  const clock = fakeClock()
  const ids = randomIds()
  const log = silentLog
  const store = await openStore({ path: join(dataDir, 'hutch.db') }, { log })
  const closer = closing({ log })
  closer.add('store', store.close)
  t.teardown(closer.close)
  const { adminKey: key } = await bootstrap({ dataDir }, { store, clock, ids })
  const names = wireNames(options.wireNames ?? [{ header: 'Svc', short: 'svc', image: 'svc' }])
  const sealer = createSealer('test')
  const reach = createReach(options.providers ?? [])
  const tokens = createAccessTokens({ reach, clock })
  closer.add('providers', reach.close)
  const defaultImage = 'svc/base-image:latest'
  const own = createKinds({
    images,
    sealer,
    names,
    store,
    invitations: createInvitations({ publicUrl: () => 'http://127.0.0.1:8080', sendsMail: options.sendsMail ?? false }),
    wireNames: 'Svc:svc:svc',
    regions: ['local', 'eu-fra-1'],
    place: { country: 'de', continent: 'eu', flavors: ['cpu:x86'] },
    defaultImage: async () => defaultImage,
    egressRules: options.egressRules ?? true,
    volumes: options.volumes === false ? undefined : { check: async () => {} },
    servesDrives: options.drives ?? false,
    needRoom: async wantedMb => {
      const { diskMb: freeMb = Infinity } = options
      if (wantedMb > freeMb) throw fail('no_room', { wantedMb, freeMb, retryAfterS: 60 })
    },
    longestDays: options.quotas?.['sandbox_ttl'],
    standbyAfterMs: 15_000,
    reclaimAfterMs: 60_000,
    startupMs: 60_000,
    removeAfterMs: 86_400_000,
    connections: {} as never,
    credentials: {} as never,
    publicUrl: () => 'http://127.0.0.1:8080',
    clock,
    log,
    egressAddresses:
      options.egressAddresses &&
      addressPool(options.egressAddresses, {
        store,
        clock,
        rulesOf: () => rules,
        own: () => new Set(options.egressAddresses),
      }),
  })
  const kinds = [...Object.values(own), ...(options.kinds ?? [])]
  const rules = new Map(kinds.map(kind => [kind.kind, kind]))
  const poked: string[] = []
  const cursors = createCursors({ key: 'test', clock })
  const { diskMb: freeMb = Infinity } = options
  const room = diskRoom({ storage: { room: async () => ({ freeMb, usedMb: 0, promised: new Map() }) } })
  const move = transition({ store, clock, rules, changes: changes(), written: room.written })
  const catalogues = openCatalogues(join(dataDir, 'catalogues'), { log })
  const uses = createKeyUses({ tenants: store.tenants, clock, log }, closer)
  const denials = createDenials({ audit: store.audit, account: 'default', clock, log }, closer)
  const publicUrl = () => 'http://127.0.0.1:8080'
  const identity = createIdentity({
    store,
    sealer,
    clock,
    ids,
    log,
    denials,
    transition: () => move,
    userKind: 'workspaceUser',
    documents: { hosts: [], ca: '' },
    secret: 'test',
    account: 'default',
    publicUrl,
    clientNames: ['svc'],
  })
  const verbs = {
    keyUses: uses,
    store,
    transition: move,
    clock,
    ids,
    cursors,
    sealer,
    kinds: rules,
    poke: (kind: string, uid: string) => void poked.push(`${kind}/${uid}`),
    url: ({ workspace, kind, name }: Resource) => `http://run.test/${workspace}/${kind}/${name}`,
    plan: 'test',
    entry: {
      admit: ({ uid, storageMb = 0 }: { uid: string; storageMb?: number | undefined }) => room.admit(uid, storageMb),
      leave: room.leave,
      grow: room.check,
    },
    quotas: options.quotas ?? {},
    domain: () => 'run.test',
    dns: {
      txt: async (name: string) => options.txtRecords?.get(name) ?? [],
      leadsTo: async (name: string) => !options.leadElsewhere?.has(name),
    },
    sharable: sharableImages(images, async () => undefined),
    providers: createProviders(options.providers ?? [], { catalogues, reads: connectionReads({ reach, tokens }) }),
  }
  const api = createApi({
    store,
    clock,
    ids,
    log,
    names,
    apiVersions: options.apiVersions,
    keys: createKeys({ tenants: store.tenants, clock, uses, tokens: identity.tokens }),
    standing: createStanding({ clock, log }, closer),
    denials,
    personalKeys: personalKeys({ tenants: store.tenants, clock, ids, uses }),
    removeWorkspace: workspaceRemover(verbs),
    images,
    catalogues,
    abilities: {
      disks: options.disks ?? true,
      regions: ['local', 'eu-fra-1'],
      drives: false,
      quotas: options.quotas ?? {},
      outboundPolicies: true,
      egressAddresses: options.egressAddresses ?? [],
    },
    upkeep,
    builds,
    verbs: kinds.map(kind => crud(kind, verbs)),
    drivers: driversOf(fakeDriver()),
    publicUrl: () => 'http://127.0.0.1:8080',
    logins: createLogins({
      clock,
      ids,
      sealer,
      publicUrl,
      sandboxDomain: '',
      planeOf: kind => rules.get(kind) as never,
    }),
    routes: [
      ...(options.routes ?? []),
      ...oauthRoutes({ identity, denials }),
      ...invitationRoutes({ store, identity }),
      ...scheduleRoutes({ store, cursors, clock }),
      ...billingRoutes({ store, prices: options.prices ?? {}, clock, cursors }),
      ...healthRoutes({
        health: async () => ({ status: 'ok', database: 'ok', drivers: 'ok', disk: 'ok', draining: false }),
        metrics: { contentType: 'text/plain', text: async () => '' },
      }),
      ...warmRoutes({ report: async () => ({ pools: [], claimed: 0, missed: 0 }) }),
    ],
    checkReplies: options.checkReplies ?? true,
  })
  return {
    call: (method, target, body, given = {}) =>
      call(api, method, `/v0${target}`, {
        ...given,
        body,
        headers: { authorization: `Bearer ${key}`, 'svc-version': '2026-04-28', ...given.headers },
      }),
    api,
    store,
    transition: move,
    key,
    clock,
    names,
    sealer,
    dataDir,
    poked,
    kinds: rules,
    async addKey(given) {
      const secret = ids.secret(24)
      await store.tenants.addApiKey({
        id: ids.uuid(),
        hash: hashKey(secret),
        name: 'test',
        account: 'default',
        workspace: null,
        role: 'member',
        accountAdmin: false,
        createdAt: clock.now(),
        expiresAt: null,
        scopes: null,
        owner: null,
        person: { sub: 'test', label: '', expiresIn: '' },
        defaultWorkspace: null,
        ...given,
      })
      return secret
    },
    async addWorkspace(name, account = 'default') {
      if (!(await store.tenants.account(account)))
        await store.tenants.addAccount({ id: account, displayName: account, createdAt: clock.now() })
      const id = ids.uuid()
      await store.tenants.addWorkspace({ id, name, account, displayName: name, createdAt: clock.now() })
      return id
    },
  }
}

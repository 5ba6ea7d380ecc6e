/** A runner in this process: real store, machines of the fake driver, a clock that stands still, and kinds of its own. */
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Driver } from '../../control/drivers/driver.ts'
import { driversOf, type Drivers } from '../../control/drivers/drivers.ts'
import { fakeDriver, fakeWorld, type Faults, type FakeWorld } from '../../control/drivers/fake/index.ts'
import { createChannelKeys } from '../../control/core/channel/keys.ts'
import { createConfigurer, type Tell } from '../../control/core/machines/configure.ts'
import { createRunner, type Runner } from '../../control/core/machines/runner.ts'
import type { StandbyDeps } from '../../control/core/machines/standby/standby.ts'
import type { ClaimDaemon, Spare } from '../../control/core/machines/spare.ts'
import { changes, type Changes } from '../../control/core/transitions/changes.ts'
import type { Rules, Workload } from '../../control/core/transitions/rules.ts'
import { stateTable } from '../../control/core/transitions/state-table.ts'
import { transition, type Transition } from '../../control/core/transitions/transition.ts'
import { openStore } from '../../control/core/store/sqlite/open.ts'
import type { Address, Instance, Rate, Resource, WritableStore } from '../../control/core/store/store.ts'
import { closing } from '../../shared/closing.ts'
import { silentLog } from '../../shared/log.ts'
import { fakeClock, type FakeClock } from './clock.ts'
import { instanceOf, put, putInstance, record } from './records.ts'

export const afterMs = 15_000

interface CrewSpec {
  readonly count?: number
  readonly revision?: string
  readonly image?: string
  readonly env?: Readonly<Record<string, string>>
  readonly graceMs?: number
}

const specOf = ({ spec }: Resource): CrewSpec => spec as CrewSpec

const rates = ({ status, memoryMb = 0, heldBytes = 0 }: Instance): Rate[] => {
  if (status === 'running') return [{ dimension: 'agent_compute_runtime_gbs', quantity: memoryMb / 1024 }]
  return status === 'standby' ? [{ dimension: 'agent_image_storage_gbs', quantity: heldBytes / 2 ** 30 }] : []
}

const workload: Workload = {
  wanted: owner =>
    ['DEPLOYING', 'DEPLOYED'].includes(owner.status)
      ? [{ revision: specOf(owner).revision ?? '0', count: specOf(owner).count ?? 1 }]
      : [],
  rates,
  async plan(owner, instance) {
    const image = instance.image ?? { digest: specOf(owner).image ?? 'd', rootfs: '/' }
    const { rootfs } = image
    const spec = {
      id: instance.id,
      rootfs,
      memoryMb: 2048,
      cpus: 1,
      hostname: owner.name,
      env: specOf(owner).env ?? {},
      workdir: '/',
    }
    return { image, spec }
  },
  graceMs: owner => specOf(owner).graceMs ?? 0,
  standby: () => ({ afterMs }),
}

/** A record with as many machines as its spec says. */
export const crew: Rules = {
  kind: 'crew',
  life: stateTable('DEPLOYING', {
    DEPLOYING: { deployed: 'DEPLOYED', broke: 'FAILED', delete: 'DELETING', disable: 'DEACTIVATING' },
    DEPLOYED: { lost: 'DEPLOYING', restart: 'DEPLOYING', delete: 'DELETING', disable: 'DEACTIVATING' },
    DEACTIVATING: { gone: 'DEACTIVATED', enable: 'DEPLOYING', delete: 'DELETING' },
    DEACTIVATED: { enable: 'DEPLOYING', delete: 'DELETING' },
    FAILED: { delete: 'DELETING' },
    DELETING: { delete: 'DELETING', gone: 'TERMINATED' },
    TERMINATED: { delete: 'TERMINATED' },
  }),
  hiddenStatuses: ['TERMINATED'],
  retentionMs: () => 60_000,
  workload,
}

/** Anonymous machines that wait to be given to somebody: without a status, and nobody's bill. */
export const pool: Rules = {
  kind: 'pool',
  hiddenStatuses: [],
  workload: {
    ...workload,
    wanted: owner => [{ revision: specOf(owner).revision ?? '0', count: specOf(owner).count ?? 1 }],
    rates: () => [],
    async plan(owner, instance) {
      const plan = await workload.plan(owner, instance)
      return { ...plan, spec: { ...plan.spec, anonymous: true } }
    },
  },
}

export interface TestRunner {
  readonly clock: FakeClock
  readonly store: WritableStore
  readonly world: FakeWorld
  readonly drivers: Drivers
  readonly runner: Runner
  readonly transition: Transition
  readonly changes: Changes
  /** Stores a crew, DEPLOYED, with one instance, running since now. */
  add(given?: Partial<Instance>, rates?: readonly Rate[]): Promise<{ owner: Resource; instance: Instance }>
  /** Creates a record of `kind` and pokes it. */
  create(kind: string, name: string, spec: CrewSpec): Promise<Resource>
  /** Writes an event of the record, as it is now, and pokes it. */
  move(uid: string, event: string, spec?: CrewSpec): Promise<Resource>
  /** Statuses of the record's instances, oldest first. */
  statuses(uid: string): Promise<string[]>
}

export interface RunnerOptions {
  readonly driver?: Driver
  readonly others?: readonly Driver[]
  readonly world?: FakeWorld
  readonly faults?: Faults
  readonly keepAlive?: StandbyDeps['keepAlive']
  readonly tell?: Tell
  /** That of another host, which is no more. */
  readonly store?: WritableStore
  readonly spare?: Spare
  readonly claimDaemon?: ClaimDaemon
  readonly expectUse?: (address: Address, withinMs: number) => void
  readonly askToEnd?: (address: Address) => Promise<number>
}

export const runner = async (t: Test, options: RunnerOptions = {}): Promise<TestRunner> => {
  const clock = fakeClock()
  const log = silentLog
  const world = options.world ?? fakeWorld()
  const store = options.store ?? (await openStore({ path: join(t.testdir(), 'hutch.db') }, { log }))
  const driver = options.driver ?? fakeDriver({ world, ...(options.faults ? { faults: options.faults } : {}) })
  const drivers = driversOf(driver, options.others)
  const rules = new Map([crew, pool].map(kind => [kind.kind, kind]))
  const told = changes()
  const configurer = createConfigurer({
    store,
    rules,
    clock,
    log,
    tell: options.tell ?? (async () => []),
    grow: async () => {},
  })
  const move = transition({ store, clock, rules, changes: told, written: configurer.written })
  const closer = closing({ log, boundMs: 1_000 })
  if (!options.store) closer.add('store', store.close)
  t.teardown(closer.close)
  let next = 0
  const ids = {
    uuid: () => `id-${String(++next).padStart(3, '0')}`,
    short: () => `s-${++next}`,
    secret: () => `x-${++next}`,
  }
  const made = createRunner({
    store,
    drivers,
    clock,
    ids,
    log,
    closing: closer,
    rules,
    transition: move,
    changes: told,
    channelKeys: createChannelKeys('secret', ids),
    configurer,
    onDown: () => {},
    spare: options.spare,
    observer: { started() {}, woke() {} },
    claimDaemon: options.claimDaemon ?? (async () => {}),
    expectUse: options.expectUse,
    keepAlive: options.keepAlive ?? (async () => 0),
    askToEnd: options.askToEnd ?? (async () => 0),
  })
  const current = async (uid: string): Promise<Resource> => {
    const found = await store.resources.getByUid(uid)
    if (!found) throw new Error(`no record ${uid}`)
    return found
  }
  return {
    clock,
    store,
    world,
    drivers,
    runner: made,
    transition: move,
    changes: told,
    async add(given = {}, metered = []) {
      const owner = await put(store, record({ kind: 'crew', name: 'a', createdAt: clock.now() }))
      const instance = instanceOf(owner, { id: 'i', address: { host: '127.0.0.1', port: 9 }, ...given })
      return { owner, instance: await putInstance(store, instance, metered) }
    },
    async create(kind, name, spec) {
      const draft = { uid: `uid-${name}`, kind, workspace: 'main', parent: '', name, spec: { ...spec } }
      const metadata = { createdBy: 'a', updatedBy: 'a' }
      const { resources } = await move.write([{ create: { ...draft, metadata }, message: 'made' }])
      made.poke(kind, draft.uid)
      return resources[0] as Resource
    },
    async move(uid, event, spec) {
      const found = await current(uid)
      const change = spec ? { change: { spec: { ...found.spec, ...spec } } } : {}
      const named = event ? { event: { name: event, message: event } } : {}
      const { resources } = await move.write([{ record: found, ...named, ...change }])
      made.poke(found.kind, uid)
      return resources[0] as Resource
    },
    statuses: async uid => (await store.instances.ofOwner(uid)).map(({ status }) => status),
  }
}

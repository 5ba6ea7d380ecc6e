/**
 * The host stops at the n-th thing it does outside its own memory, for every n, or that thing fails: the next host, or the next look, brings
 * everything to what was wished, leaks nothing and bills nothing twice. Machines in memory; `test/e2e/faults` has real ones.
 */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { fakeDriver, fakeWorld, type FakeWorld } from '../../../../control/drivers/fake/index.ts'
import { createHost, type Host } from '../../../../control/host/host.ts'
import { loadConfig } from '../../../../control/base/config.ts'
import type { Instance } from '../../../../control/core/store/store.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { randomIds } from '../../../../shared/ids.ts'
import { silentLog } from '../../../../shared/log.ts'
import { call } from '../../../support/call.ts'
import { gate, gatedDriver, mortalClock, type Fault, type Gate } from '../../../support/faults.ts'
import { answerJson, standIn } from '../../../support/stand-in.ts'
import { sample, thorough } from '../../../support/thorough.ts'
import { until } from '../../../support/until.ts'
import { repository } from '../../../support/whole-host.ts'

/** A box, and the daemon that all its machines share. */
interface Box {
  readonly world: FakeWorld
  readonly serve: () => Promise<{ host: string; port: number; close(): void }>
}

interface Opened {
  readonly host: Host
  readonly gate: Gate
  // Untyped on purpose: tests look at single fields.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly api: (method: string, target: string, body?: unknown) => Promise<{ status: number; body: any }>
  readonly instances: () => Promise<Instance[]>
  readonly machines: FakeWorld['machines']
}

interface Scenario {
  readonly name: string
  /** Machines made ahead of need. */
  readonly warm?: number
  readonly standbyAfterMs?: number
  /** Up to the moment from which on calls are counted. */
  prepare?(on: Opened): Promise<void>
  /** What is done; it may be refused or never answered. */
  act(on: Opened): Promise<unknown>
  /** Whether it is done, by the first host or the next one. */
  done(on: Opened): Promise<boolean>
}

const image = 'busybox'
const create = ({ api }: Opened) =>
  api('POST', '/sandboxes', { metadata: { name: 'a' }, spec: { runtime: { image, memory: 256 } } })
const statusOf = async ({ api }: Opened): Promise<string> => (await api('GET', '/sandboxes/a')).body?.status ?? 'none'
const stateOf = async ({ api }: Opened): Promise<string> => (await api('GET', '/sandboxes/a')).body?.state ?? 'none'
const own = async ({ instances }: Opened) => (await instances()).filter(({ owner }) => owner.kind === 'sandbox')
const spare = async ({ instances }: Opened) =>
  (await instances()).filter(({ owner, status }) => owner.kind !== 'sandbox' && status === 'standby')

const up = async (on: Opened): Promise<void> => {
  await create(on)
  await until(async () => (await statusOf(on)) === 'DEPLOYED', 'a sandbox')
}
const asleep = async (on: Opened) => (await stateOf(on)) === 'STANDBY'
const wake = async ({ host }: Opened) => {
  const key = { kind: 'sandbox', workspace: 'default', parent: '', name: 'a' }
  const record = await host.store.resources.get(key)
  if (record) (await host.runner.hold(record, AbortSignal.timeout(20_000))).release()
}

/** Of the one machine that there is then. */
const machineOf = async (on: Opened) => {
  const [one, ...more] = await own(on)
  return more.length === 0 && one?.status === 'running' ? on.machines.get(one.id) : undefined
}

const scenarios: readonly Scenario[] = [
  {
    name: 'create',
    act: create,
    // Refused or never begun, there is none.
    done: async on => ['DEPLOYED', 'none'].includes(await statusOf(on)),
  },
  {
    name: 'claim',
    warm: 1,
    prepare: on => until(async () => (await spare(on)).length === 1, 'a machine ahead of need'),
    act: create,
    done: async on => ['DEPLOYED', 'none'].includes(await statusOf(on)) && (await spare(on)).length === 1,
  },
  {
    name: 'pool refill',
    warm: 2,
    act: async () => {},
    done: async on => (await spare(on)).length === 2,
  },
  { name: 'freeze', standbyAfterMs: 60, prepare: up, act: async () => {}, done: asleep },
  {
    name: 'wake',
    standbyAfterMs: 250,
    async prepare(on) {
      await up(on)
      await until(() => asleep(on), 'it to sleep')
    },
    act: wake,
    // And asleep again.
    done: asleep,
  },
  {
    name: 'resize',
    prepare: up,
    act: ({ api }) => api('PUT', '/sandboxes/a', { metadata: {}, spec: { runtime: { memory: 512 } } }),
    // Never heard, it has what it had.
    async done(on) {
      const { status, spec } = (await on.api('GET', '/sandboxes/a')).body
      return status === 'DEPLOYED' && (await machineOf(on))?.limits.memoryMb === spec.runtime.memory
    },
  },
  {
    // As its files are copied.
    name: 'snapshot',
    prepare: up,
    async act(on) {
      const [one] = await own(on)
      if (one) await on.host.runner.still(one.id, () => on.gate.pass('copy', async () => {}))
    },
    done: async on => (await machineOf(on))?.phase === 'running',
  },
  {
    name: 'delete',
    prepare: up,
    act: ({ api }) => api('DELETE', '/sandboxes/a'),
    // A request that was never answered may not have been heard: then it is as it was.
    done: async on => ['TERMINATED', 'DEPLOYED', 'none'].includes(await statusOf(on)),
  },
]

const open = async (dataDir: string, box: Box, { warm = 0, standbyAfterMs = 600_000 }: Scenario): Promise<Opened> => {
  const through = gate()
  const clock = mortalClock(systemClock(), { isDead: () => through.isDead })
  const driver = gatedDriver(
    through,
    fakeDriver({ world: box.world, serve: box.serve, faults: point => through.pass(point, async () => {}) }),
  )
  const config = {
    ...loadConfig({}, repository),
    dataDir,
    port: 0,
    driver: 'fake',
    warm: { [image]: warm },
    standbyAfterMs,
  }
  const host = await createHost(config, { clock, ids: randomIds(), log: silentLog, drivers: [driver] })
  const { api } = await host.server()
  const { store } = host as Host & { store: { apply: (...given: unknown[]) => Promise<unknown> } }
  const apply = store.apply.bind(store)
  store.apply = (...given) => through.pass('commit', () => apply(...given))
  return {
    host,
    gate: through,
    api: (method, target, body) =>
      call(api, method, `/v0${target}`, {
        body,
        headers: { authorization: `Bearer ${host.first.adminKey}`, 'svc-version': '2026-04-28' },
      }),
    instances: () => host.store.instances.every(),
    machines: box.world.machines,
  }
}

/** As a process that was killed: what it held of the kernel's is free, and nothing of it goes on. */
const abandon = async ({ host }: Opened): Promise<void> => {
  await (host as unknown as { claim: { release(): Promise<void> } }).claim.release()
}

/** What there is on the box is what the records say, and no second is on the bill twice. */
const check = async (t: Test, on: Opened, { world }: Box, about: string): Promise<void> => {
  const instances = await on.instances()
  t.same([...world.machines.keys()].sort(), instances.map(({ id }) => id).sort(), `${about}: machines are the records'`)
  const owned = await own(on)
  t.ok(owned.length <= 1, `${about}: one machine each`)
  for (const id of new Set(world.journal.map(line => line.split(' ')[1] as string))) {
    const intervals = await on.host.store.meter.intervals(id)
    const alive = owned.some(one => one.id === id)
    for (const dimension of new Set(intervals.map(one => one.dimension))) {
      const ordered = intervals.filter(one => one.dimension === dimension).sort((a, b) => a.from - b.from)
      const twice = ordered.filter((one, at) => at > 0 && (ordered[at - 1]?.to ?? Infinity) > one.from)
      t.same(twice, [], `${about}: no time is billed twice`)
      if (!alive)
        t.same(
          ordered.filter(({ to }) => to === null),
          [],
          `${about}: what is gone costs nothing`,
        )
    }
  }
}

/** Plays it once; resolves with what passed the gate. */
const play = async (
  t: Test,
  dataDir: string,
  box: Box,
  scenario: Scenario,
  fault: Fault | undefined,
): Promise<readonly string[]> => {
  const about = fault ? `${scenario.name}, ${fault.kind} ${fault.at}` : scenario.name
  const first = await open(dataDir, box, scenario)
  await scenario.prepare?.(first)
  first.gate.arm(fault)
  const acted = scenario.act(first).catch(() => undefined)
  const settled = acted.then(() => until(() => scenario.done(first), `${about} to be done`))
  settled.catch(() => {})
  await Promise.race([settled, first.gate.dead])
  const passed = [...first.gate.passed]
  let last = first
  if (first.gate.isDead) {
    await abandon(first)
    last = await open(dataDir, box, scenario)
    await until(() => scenario.done(last), `${about}: the next host to mend it`)
  }
  await until(
    async () => box.world.machines.size === (await last.instances()).length,
    `${about}: what is left over to go`,
  )
  await check(t, last, box, about)
  await last.host.close()
  return passed
}

const daemonOf = async (t: Test) => {
  const daemon = await standIn(t, ({ path }, response) => {
    if (path.startsWith('/system/activity')) answerJson(response, { keepAlive: 0, drives: { uidMap: '', gidMap: '' } })
    else answerJson(response, { claimed: true })
  })
  const { hostname: host, port } = new URL(daemon.url)
  return async () => ({ host, port: Number(port), close() {} })
}

for (const scenario of scenarios)
  t.test(scenario.name, async t => {
    const serve = await daemonOf(t)
    const dir = t.testdir()
    let played = 0
    const once = (fault?: Fault) => play(t, join(dir, String(played++)), { world: fakeWorld(), serve }, scenario, fault)
    const calls = Array.from({ length: (await once()).length }, (_, index) => index + 1)
    t.ok(calls.length > 0, `${calls.length} calls`)
    const faults: Fault[] = [
      ...calls.map(at => ({ kind: 'before' as const, at })),
      ...(thorough ? calls.map(at => ({ kind: 'after' as const, at })) : []),
      ...sample(calls, calls.length > 10 ? 4 : 1).map(at => ({ kind: 'fails' as const, at })),
    ]
    // They wait more than they work.
    const player = async () => {
      for (let fault = faults.shift(); fault; fault = faults.shift()) await once(fault)
    }
    await Promise.all(Array.from({ length: 6 }, player))
  })

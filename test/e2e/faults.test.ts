/**
 * A real server is killed at its n-th call out of its process, or that call fails, while it makes, gives away, freezes, wakes and removes
 * sandboxes; the next start, or the next look, brings all to what was wished and leaves nothing else. A sample here, every call in the soak.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { twice, withStore } from '../support/bill.ts'
import { faultyServer, type FaultyServer } from '../support/faulty-server.ts'
import { whyNoMachines } from '../support/machine.ts'
import { loopsLeft, traces } from '../support/oci.ts'
import { thorough } from '../support/thorough.ts'
import { until } from '../support/until.ts'

interface Fault {
  readonly kind: 'kills' | 'fails'
  /** Of the calls, from 1. */
  readonly at: number
}

interface Scenario {
  readonly name: string
  /** Somewhere in the middle. */
  readonly sample: Fault
  /** `runc` has all of them. On gVisor: in the sample too, or never, as there are no machines ahead of need. */
  readonly onGvisor?: 'sample' | 'never'
  readonly env?: Record<string, string>
  prepare(s: FaultyServer, name: string): Promise<void>
  act(s: FaultyServer, name: string): Promise<unknown>
  done(s: FaultyServer, name: string): Promise<boolean>
}

const statusOf = async (s: FaultyServer, name: string): Promise<string> =>
  (await s.call('GET', `/v0/sandboxes/${name}`)).body?.status ?? 'none'
const create = (s: FaultyServer, name: string) =>
  s.call('POST', '/v0/sandboxes', { metadata: { name }, spec: { runtime: { image: 'busybox', memory: 256 } } })
const up = async (s: FaultyServer, name: string): Promise<void> => {
  await create(s, name)
  await s.until(name, body => body.status === 'DEPLOYED')
}
const exec = async (s: FaultyServer, name: string, command: string): Promise<string> =>
  (await s.call('POST', `/default/sandboxes/${name}/process`, { command, waitForCompletion: true })).body?.logs
const asleep = async (s: FaultyServer, name: string): Promise<boolean> =>
  (await s.call('GET', `/v0/sandboxes/${name}`)).body?.state === 'STANDBY'
/** Up and usable, or never heard of. */
const usable = async (s: FaultyServer, name: string): Promise<boolean> => {
  const status = await statusOf(s, name)
  return status === 'none' || (status === 'DEPLOYED' && (await exec(s, name, 'echo up')) === 'up\n')
}
const ready = async (s: FaultyServer): Promise<boolean> =>
  (await s.call('GET', '/v0/warm-pools')).body.pools[0]?.ready === 1

const scenarios: readonly Scenario[] = [
  { name: 'create', sample: { kind: 'kills', at: 20 }, prepare: async () => {}, act: create, done: usable },
  {
    name: 'claim and refill',
    onGvisor: 'never',
    sample: { kind: 'kills', at: 11 },
    env: { HUTCH_WARM: 'busybox=1' },
    prepare: s => until(() => ready(s), 'a machine ahead of need'),
    act: create,
    done: async (s, name) => (await usable(s, name)) && (await ready(s)),
  },
  {
    name: 'freeze and wake',
    sample: { kind: 'fails', at: 2 },
    env: { HUTCH_STANDBY_SECONDS: '0.2' },
    async prepare(s, name) {
      await up(s, name)
      await exec(s, name, 'echo kept > /kept')
    },
    async act(s, name) {
      await until(() => asleep(s, name), 'it to sleep')
      await exec(s, name, 'true')
    },
    done: async (s, name) =>
      (await exec(s, name, 'cat /kept')) === 'kept\n' &&
      (await until(() => asleep(s, name), 'it to sleep again'), true),
  },
  {
    name: 'delete',
    sample: { kind: 'kills', at: 10 },
    onGvisor: 'sample',
    prepare: up,
    act: (s, name) => s.call('DELETE', `/v0/sandboxes/${name}`),
    done: async (s, name) => ['TERMINATED', 'none'].includes(await statusOf(s, name)) || usable(s, name),
  },
]

/** True when the server was killed. */
const killed = (s: FaultyServer): Promise<boolean> =>
  s.call('GET', '/healthz').then(
    () => false,
    () => true,
  )

const settled = async (s: FaultyServer): Promise<boolean> => {
  const instances = await withStore(s.dataDir, store => store.instances.every())
  const machines = readdirSync(join(s.dataDir, 'machines')).toSorted()
  return JSON.stringify(machines) === JSON.stringify(instances.map(({ id }) => id).toSorted())
}

const play = async (
  s: FaultyServer,
  scenario: Omit<Scenario, 'sample' | 'onGvisor'>,
  name: string,
  fault: Fault | undefined,
) => {
  await scenario.prepare(s, name)
  s.arm(fault?.kind ?? 'counts', fault?.at ?? 0)
  const acted = scenario.act(s, name).catch(() => undefined)
  const finished = acted.then(() =>
    until(() => scenario.done(s, name).catch(() => false), `${scenario.name} ${JSON.stringify(fault)}`),
  )
  finished.catch(() => {})
  await Promise.race([finished, until(() => killed(s), 'it to be killed').catch(() => finished)])
  const calls = s.calls()
  s.disarm()
  if (await killed(s)) {
    await s.kill()
    await s.start()
    await until(
      () => scenario.done(s, name).catch(() => false),
      `${scenario.name} ${JSON.stringify(fault)}: the next start to mend it`,
    )
  }
  await until(() => settled(s), `${scenario.name} ${JSON.stringify(fault)}: what is left over to go`)
  return calls
}

const billedTwice = async ({ dataDir }: FaultyServer, ids: ReadonlySet<string>) =>
  withStore(dataDir, async store => (await Promise.all([...ids].map(id => store.meter.intervals(id)))).flatMap(twice))

const taken = (runtime: string) =>
  scenarios.filter(
    ({ onGvisor }) => runtime === 'runc' || onGvisor === 'sample' || (thorough && onGvisor === undefined),
  )
for (const runtime of ['runc', 'runsc']) {
  const why = whyNoMachines(runtime)
  if (why) {
    t.pass(`skipped: ${why}`, { skip: why })
    continue
  }
  for (const { sample, onGvisor: _, ...scenario } of taken(runtime))
    t.test(`${scenario.name} on ${runtime}`, async t => {
      const s = await faultyServer(t, { HUTCH_RUNTIME: runtime, HUTCH_STANDBY_SECONDS: '600', ...scenario.env })
      const ids = new Set<string>()
      const note = async () => {
        for (const { id } of await withStore(s.dataDir, store => store.instances.every())) ids.add(id)
      }
      let played = 0
      const once = async (fault?: Fault) => {
        const name = `x${played++}`
        const calls = await play(s, scenario, name, fault)
        await note()
        await s.call('DELETE', `/v0/sandboxes/${name}`)
        await until(async () => ['TERMINATED', 'none'].includes(await statusOf(s, name)), `${name} to go`)
        return calls
      }
      if (thorough) {
        const calls = (await once()).length
        t.ok(calls > 0, `${calls} calls`)
        for (const kind of ['kills', 'fails'] as const) for (let at = 1; at <= calls; at++) await once({ kind, at })
      } else t.ok((await once(sample)).length >= sample.at, 'there are so many calls')
      t.same(await billedTwice(s, ids), [], 'no time is billed twice')
      t.equal(await s.stop(), 0)
      // Machines made ahead of need stay for the next server.
      if (!scenario.env?.['HUTCH_WARM'])
        t.same(
          [...readdirSync(join(s.dataDir, 'machines')), ...traces(s.names), ...(await loopsLeft(s.dataDir))],
          [],
          'nothing is left on the box',
        )
    })
}

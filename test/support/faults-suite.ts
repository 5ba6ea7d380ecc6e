/**
 * A real server is killed at its n-th call out of its process, or that call fails, while it makes, gives away, changes, freezes, wakes,
 * copies and removes sandboxes; the next start, or the next look, brings all to what was wished and leaves nothing else.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { twice, withStore } from './bill.ts'
import { faultyServer, type FaultyServer } from './faulty-server.ts'
import { scenarios, statusOf, type Fault, type Scenario } from './fault-scenarios.ts'
import { loopsLeft, traces } from './oci.ts'
import { thorough } from './thorough.ts'
import { until } from './until.ts'

const settled = async (s: FaultyServer): Promise<boolean> => {
  const instances = await withStore(s.dataDir, store => store.instances.every())
  const machines = readdirSync(join(s.dataDir, 'machines')).toSorted()
  return JSON.stringify(machines) === JSON.stringify(instances.map(({ id }) => id).toSorted())
}

/** Plays it once with the sandbox of that name; resolves with the calls there were. */
const play = async (
  s: FaultyServer,
  scenario: Scenario,
  name: string,
  fault: Fault | undefined,
): Promise<readonly string[]> => {
  const about = `${scenario.name} ${JSON.stringify(fault)}`
  await scenario.prepare(s, name)
  s.arm(fault?.kind ?? 'counts', fault?.at ?? 0)
  const acted = scenario.act(s, name).catch(() => undefined)
  const finished = acted.then(() => until(() => scenario.done(s, name).catch(() => false), about))
  finished.catch(() => {})
  await Promise.race([finished, until(() => !s.isRunning(), 'it to be killed').catch(() => finished)])
  const calls = s.calls()
  s.disarm()
  // One that was killed by what it did last is not known to be over yet, but answers nobody.
  if (!(await s.call('GET', '/healthz').catch(() => undefined))) await until(() => !s.isRunning(), `${about}: its end`)
  if (!s.isRunning()) {
    await s.start()
    await until(() => scenario.done(s, name).catch(() => false), `${about}: the next start to mend it`)
  }
  await until(() => settled(s), `${about}: what is left over to go`)
  return calls
}

interface Stage {
  readonly s: FaultyServer
  play(scenario: Scenario, name: string, fault?: Fault): Promise<readonly string[]>
  remove(name: string): Promise<void>
  /** Stops the server; nothing is billed twice or left on the box. */
  close(): Promise<void>
}

const openStage = async (t: Test, env: Record<string, string>): Promise<Stage> => {
  const s = await faultyServer(t, { HUTCH_STANDBY_SECONDS: '600', ...env })
  const ids = new Set<string>()
  return {
    s,
    async play(scenario, name, fault) {
      const calls = await play(s, scenario, name, fault)
      for (const { id } of await withStore(s.dataDir, store => store.instances.every())) ids.add(id)
      return calls
    },
    async remove(name) {
      await s.call('DELETE', `/v0/sandboxes/${name}`)
      await until(async () => ['TERMINATED', 'none'].includes(await statusOf(s, name)), `${name} to go`)
    },
    async close() {
      const intervals = await withStore(s.dataDir, store => Promise.all([...ids].map(id => store.meter.intervals(id))))
      t.same(intervals.flatMap(twice), [], 'no time is billed twice')
      t.equal(await s.stop(), 0)
      // Machines made ahead of need stay for the next server.
      const left = env['HUTCH_WARM'] ? [] : [...readdirSync(join(s.dataDir, 'machines')), ...traces(s.names)]
      t.same([...left, ...(env['HUTCH_WARM'] ? [] : await loopsLeft(s.dataDir))], [], 'nothing is left on the box')
    },
  }
}

/** One fault of each kind of thing that is done, in the life of one sandbox: what a run of all tests has time for. */
const sampled = async (t: Test, taken: readonly Scenario[], env: Record<string, string>): Promise<void> => {
  const stage = await openStage(t, env)
  for (const scenario of taken) {
    const calls = await stage.play(scenario, 'a', scenario.sample)
    t.ok(calls.length >= scenario.sample.at, `${scenario.name}: there are so many calls`)
  }
  await stage.remove('a')
  await stage.close()
}

/** Every call, killed and failed. Servers wait more than they work, so that there are three. */
const whole = async (t: Test, scenario: Scenario, env: Record<string, string>): Promise<void> => {
  const first = await openStage(t, env)
  const { length } = await first.play(scenario, 'counted')
  await first.remove('counted')
  t.ok(length > 0, `${length} calls`)
  const faults = (['kills', 'fails'] as const).flatMap(kind =>
    Array.from({ length }, (_, index): Fault => ({ kind, at: index + 1 })),
  )
  const player = async (stage: Stage) => {
    for (let fault = faults.shift(); fault; fault = faults.shift()) {
      const name = `${fault.kind}-${fault.at}`
      await stage.play(scenario, name, fault)
      await stage.remove(name)
    }
    await stage.close()
  }
  await Promise.all([player(first), ...[1, 2].map(async () => player(await openStage(t, env)))])
}

export const faultsSuite = async (t: Test, runtime: string): Promise<void> => {
  const possible = scenarios.filter(({ onGvisor }) => runtime !== 'runsc' || onGvisor !== 'never')
  // `SCENARIO=part-of-a-name` for some of a soak, `WARM='*=2'` for what its servers make ahead of need where the scenario does not say.
  const only = process.env['SCENARIO'] ?? ''
  if (thorough)
    for (const scenario of possible.filter(({ name }) => name.includes(only)))
      await t.test(`${scenario.name} on ${runtime}`, t =>
        whole(t, scenario, { HUTCH_RUNTIME: runtime, HUTCH_WARM: process.env['WARM'] ?? '', ...scenario.env }),
      )
  else {
    const taken = possible.filter(({ onGvisor }) => runtime !== 'runsc' || onGvisor === 'sample')
    const together = taken.filter(({ alone }) => !alone)
    const env = Object.assign({ HUTCH_RUNTIME: runtime }, ...together.map(({ env }) => env))
    await t.test(`the life of a sandbox on ${runtime}`, t => sampled(t, together, env))
    for (const scenario of taken.filter(({ alone }) => alone))
      await t.test(`${scenario.name} on ${runtime}`, t =>
        sampled(t, [scenario], { HUTCH_RUNTIME: runtime, ...scenario.env }),
      )
  }
}

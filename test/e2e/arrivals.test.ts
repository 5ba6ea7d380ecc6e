/**
 * People come when they come: sessions (create, run something, be idle, wake, run something, delete) arrive at random moments, seeded. Every
 * answer is one of those there are, and in the end nothing is left and no time is billed twice. The soak finds out what the box bears and
 * gives it 80 % of that for ten minutes.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { twice, withStore } from '../support/bill.ts'
import { whyNoMachines } from '../support/machine.ts'
import { traces } from '../support/oci.ts'
import { random, type Random } from '../support/random.ts'
import { server, type Server } from '../support/server.ts'
import { thorough } from '../support/thorough.ts'
import { until } from '../support/until.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

const seed = Number(process.env['SEED'] ?? 1)

/** An exponentially distributed time of that mean. */
const wait = (chance: Random, meanMs: number): number => -Math.log(1 - chance.below(1e6) / 1e6) * meanMs

interface Tally {
  sessions: number
  refused: number
  /** What was answered that nobody is told to expect. */
  readonly odd: string[]
  readonly ids: Set<string>
}

const answered = async (
  tally: Tally,
  what: string,
  wanted: readonly number[],
  ask: () => ReturnType<Server['call']>,
) => {
  const { status, body, text } = await ask().catch((error: unknown) => ({
    status: 0,
    body: undefined,
    text: String(error),
  }))
  if (!wanted.includes(status)) tally.odd.push(`${what}: ${status} ${text.slice(0, 200)}`)
  return { status, body }
}

/** A create that there is no room for is refused in its own shape. */
const create = async (s: Server, tally: Tally, name: string): Promise<boolean> => {
  const spec = { runtime: { image: 'busybox', memory: 256 } }
  const body = { metadata: { name }, spec }
  const given = await answered(tally, 'create', [200, 429], () => s.call('POST', '/v0/sandboxes', body))
  if (given.status === 429) {
    tally.refused++
    if (given.body?.error !== 'OVERLOADED') tally.odd.push(`create: 429 ${JSON.stringify(given.body)}`)
  }
  return given.status === 200
}

const exec = async (s: Server, tally: Tally, name: string, word: string): Promise<void> => {
  const process = { command: `echo ${word}`, waitForCompletion: true }
  const given = await answered(tally, 'exec', [200], () =>
    s.call('POST', `/default/sandboxes/${name}/process`, process),
  )
  if (given.status === 200 && given.body.logs !== `${word}\n`) tally.odd.push(`exec: ${JSON.stringify(given.body)}`)
}

const session = async (s: Server, tally: Tally, chance: Random): Promise<void> => {
  const name = `p${tally.sessions++}`
  const pauses = Array.from({ length: 3 }, () => wait(chance, 400))
  if (!(await create(s, tally, name))) return
  await exec(s, tally, name, 'one')
  // Long enough to fall asleep, as often as not.
  for (const [at, ms] of pauses.entries()) {
    await sleep(ms)
    await exec(s, tally, name, `again-${at}`)
  }
  await answered(tally, 'delete', [200], () => s.call('DELETE', `/v0/sandboxes/${name}`))
}

/** Sessions by Poisson: a mean of so many a second, for so long. */
const arrivals = async (
  s: Server,
  tally: Tally,
  { perSecond, ms }: { perSecond: number; ms: number },
): Promise<void> => {
  const chance = random(seed)
  const under: Promise<void>[] = []
  const end = performance.now() + ms
  while (performance.now() < end) {
    under.push(session(s, tally, chance))
    await sleep(wait(chance, 1000 / perSecond))
  }
  await Promise.all(under)
}

/** Sessions a second that the box bears: eight people who come again as soon as they are done. */
const capacity = async (s: Server, tally: Tally): Promise<number> => {
  const before = tally.sessions
  const ms = 30_000
  const end = performance.now() + ms
  const chance = random(seed + 1)
  const person = async () => {
    while (performance.now() < end) await session(s, tally, chance)
  }
  await Promise.all(Array.from({ length: 8 }, person))
  return ((tally.sessions - before) * 1000) / ms
}

t.test('sessions at random moments', async t => {
  const s = await server(t, { HUTCH_STANDBY_SECONDS: '0.3', HUTCH_WARM: 'busybox=2' })
  const tally: Tally = { sessions: 0, refused: 0, odd: [], ids: new Set() }
  const look = setInterval(() => {
    void withStore(s.dataDir, store => store.instances.every()).then(all => all.forEach(({ id }) => tally.ids.add(id)))
  }, 500)
  t.teardown(() => clearInterval(look))
  if (thorough) {
    const bears = await capacity(s, tally)
    t.comment(`${bears.toFixed(2)} sessions a second are what the box bears`)
    await arrivals(s, tally, { perSecond: bears * 0.8, ms: 600_000 })
  } else await arrivals(s, tally, { perSecond: 3, ms: 6_000 })
  clearInterval(look)
  t.comment(`${tally.sessions} sessions, ${tally.refused} refused for want of room`)
  t.same(tally.odd, [], 'every answer is one of those there are')
  const gone = async () =>
    (await withStore(s.dataDir, store => store.instances.every())).every(({ owner }) => owner.kind !== 'sandbox')
  await until(gone, 'all machines to go')
  const intervals = await withStore(s.dataDir, async store =>
    (await Promise.all([...tally.ids].map(id => store.meter.intervals(id)))).flat(),
  )
  t.ok(intervals.length > 0, 'there is a bill')
  t.same(twice(intervals), [], 'no time is billed twice')
  t.same(
    intervals.filter(({ to }) => to === null),
    [],
    'what is gone costs nothing',
  )
  t.match(await (await fetch(`${s.url}/healthz`)).json(), { status: 'ok' })
  const kept = (await withStore(s.dataDir, store => store.instances.every())).map(({ id }) => id)
  t.same(
    readdirSync(join(s.dataDir, 'machines')).toSorted(),
    kept.toSorted(),
    'only machines made ahead of need are left',
  )
  t.equal(await s.stop(), 0)
  if (kept.length === 0) t.same(traces(s.names), [])
})

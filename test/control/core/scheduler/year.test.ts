/** A year of schedules on a fake clock, with restarts at random moments: each time fires once, each gap once. */
import t from 'tap'
import { closing } from '../../../../shared/closing.ts'
import { fail } from '../../../../shared/errors.ts'
import { silentLog } from '../../../../shared/log.ts'
import { createScheduler, type Fire, type Source } from '../../../../control/core/scheduler/scheduler.ts'
import { nextCron } from '../../../../control/core/kinds/cron.ts'
import type { Resource } from '../../../../control/core/store/store.ts'
import type { Move } from '../../../../control/core/transitions/transition.ts'
import { fakeClock } from '../../../support/clock.ts'
import { random } from '../../../support/random.ts'

const start = Date.UTC(2026, 0, 1)
const day = 86_400_000
const minute = 60_000
/** A time that is missed by less is fired as if it had been met. */
const lateMs = 90_000

const recordOf = (name: string, cron: string): Resource => ({
  uid: name,
  kind: 'schedule',
  workspace: 'w',
  parent: 'web',
  name,
  version: 1,
  status: 'cron',
  metadata: { createdBy: 'a', updatedBy: 'a' },
  spec: { cron, from: start },
  internal: {},
  createdAt: start,
  updatedAt: start,
})

/** Records and what has fired: they outlive schedulers, as a database does. */
const world = (crons: Readonly<Record<string, string>>) => {
  const clock = fakeClock(start)
  const records = new Map(Object.entries(crons).map(([name, cron]) => [name, recordOf(name, cron)]))
  const fired: { name: string; due: number; at: number; catchUp: boolean }[] = []
  const next = ({ spec, internal }: Resource) =>
    nextCron(String(spec['cron']), Math.max(start, Number(internal['firedTo'] ?? 0)))
  const source: Source = {
    kind: 'schedule',
    next,
    claim: ({ record, due, now, catchUp }: Fire) => ({
      moves: [{ record, change: { internal: { firedTo: now } } }],
      async run() {
        fired.push({ name: record.name, due, at: now, catchUp })
      },
    }),
  }
  /** A server's life; `end` is its crash: what it holds in memory is gone. */
  const open = async (lookEveryMs = 12 * 3_600_000) => {
    const closer = closing({ log: silentLog })
    const store = {
      resources: {
        getByUid: async (uid: string) => records.get(uid),
        everyOf: async () => [...records.values()],
      },
    }
    const scheduler = createScheduler(
      { store: store as never, clock, log: silentLog, sources: [source], lookEveryMs },
      closer,
    )
    const write = async (moves: readonly Move[]) => {
      const [move] = moves as [Extract<Move, { record: Resource; change?: unknown }>]
      const row = records.get(move.record.uid)
      if (row?.version !== move.record.version) throw fail('changed_meanwhile', { kind: 'schedule', name: 'a' })
      const after = { ...row, version: row.version + 1, internal: move.change?.internal ?? {} }
      records.set(row.uid, after)
      const written = { resources: [after], instances: [], removed: [] }
      scheduler.written(written)
      return written
    }
    await scheduler.begin({ write })
    return closer.close
  }
  return { clock, fired, open }
}

t.test('a year: each time while the server is up fires once, each gap once and says so', async t => {
  const seed = 20_261_128
  const chance = random(seed)
  t.comment(`seed ${seed}`)
  const crons = { weekly: '0 9 * * mon', monthly: '30 2 1 * *', leap: '0 0 29 feb *', sixHourly: '15 */6 * * *' }
  const { clock, fired, open } = world(crons)
  const gaps: { from: number; to: number }[] = []
  let close = await open()
  for (const end = start + 365 * day; clock.now() < end; ) {
    await clock.tick(day + chance.below(20 * day))
    await close()
    const from = clock.now()
    await clock.jump(chance.below(3 * day))
    gaps.push({ from, to: clock.now() })
    close = await open()
    await clock.tick(minute)
  }
  await close()
  for (const [name, cron] of Object.entries(crons)) {
    const ours = fired.filter(one => one.name === name)
    t.equal(new Set(ours.map(({ due }) => due)).size, ours.length, `${name}: no time fired twice`)
    const dues: number[] = []
    for (let at = nextCron(cron, start); at !== undefined && at <= clock.now(); at = nextCron(cron, at)) dues.push(at)
    const gapOf = (due: number) => gaps.find(({ from, to }) => due > from && due <= to)
    const up = dues.filter(due => !gapOf(due))
    // The first time of a gap stands for all of them; it is late unless it was missed by seconds.
    const firsts = dues.filter((due, at) => gapOf(due) && gapOf(due) !== gapOf(dues[at - 1] ?? 0))
    t.same(
      ours.map(({ due }) => due),
      [...up, ...firsts].toSorted((a, b) => a - b),
      `${name}: ${up.length} times while the server was up, ${firsts.length} gaps`,
    )
    const late = firsts.filter(due => (gapOf(due)?.to ?? 0) - due > lateMs)
    t.same(
      ours.filter(({ catchUp }) => catchUp).map(({ due }) => due),
      late,
      `${name}: runs that make up for a gap say so`,
    )
  }
})

t.test('a clock that is set back fires nothing twice, and one that is set on fires once', async t => {
  let step = 0
  const { clock, fired, open } = world({ hourly: '0 * * * *' })
  const now = clock.now.bind(clock)
  Object.assign(clock, { now: () => now() + step })
  const close = await open(minute)
  await clock.tick(3 * 3_600_000 + minute)
  t.equal(fired.length, 3)
  step = -2 * 3_600_000
  await clock.tick(2 * 3_600_000 - 2 * minute)
  t.equal(fired.length, 3, 'two hours that came before')
  await clock.tick(3_600_000 + 2 * minute)
  t.equal(fired.length, 4)
  step += 10 * 3_600_000
  await clock.tick(minute)
  t.equal(fired.length, 5, 'ten hours that were left out')
  t.equal(fired.at(-1)?.catchUp, true)
  await close()
})

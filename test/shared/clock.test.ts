/** The real clock and the one of the tests keep the same promises. */
import t, { type Test } from 'tap'
import { systemClock, type Clock } from '../../shared/clock.ts'
import { fakeClock } from '../support/clock.ts'

/** A clock, and how to let `ms` of its time pass. */
interface Subject {
  readonly clock: Clock
  pass(ms: number): Promise<void>
}

const suite = (t: Test, make: () => Subject): void => {
  t.test('time goes on, wall time and monotonic time alike', async t => {
    const { clock, pass } = make()
    const [now, elapsed] = [clock.now(), clock.elapsed()]
    await pass(20)
    t.ok(clock.now() - now >= 15, 'wall')
    t.ok(clock.elapsed() - elapsed >= 15, 'monotonic')
    t.ok(clock.now() > Date.UTC(2025, 0, 1), 'epoch milliseconds')
  })

  t.test('sleep ends after its time, or with the reason of its signal', async t => {
    const { clock, pass } = make()
    const before = clock.elapsed()
    const slept = clock.sleep(20)
    await pass(40)
    await slept
    t.ok(clock.elapsed() - before >= 15)
    const abort = new AbortController()
    const waiting = clock.sleep(3_600_000, abort.signal)
    abort.abort()
    await t.rejects(waiting, { name: 'AbortError' })
    await t.rejects(clock.sleep(3_600_000, AbortSignal.abort()), { name: 'AbortError' })
  })

  t.test('after runs once unless it is called off; every runs until it is', async t => {
    const { clock, pass } = make()
    const told: string[] = []
    const done = Promise.withResolvers<void>()
    clock.after(10, () => told.push('once'))
    clock.after(10, () => told.push('never'))()
    let times = 0
    const stop = clock.every(5, () => {
      if (++times === 3) {
        stop()
        done.resolve()
      }
    })
    await pass(100)
    await done.promise
    await pass(30)
    t.same(told, ['once'])
    t.equal(times, 3)
    stop()
  })
}

t.test('the real clock', async t => {
  const clock = systemClock()
  suite(t, () => ({ clock, pass: ms => clock.sleep(ms) }))
})

t.test('the clock of tests', async t => {
  suite(t, () => {
    const clock = fakeClock()
    return { clock, pass: ms => clock.tick(ms) }
  })
  t.test('what falls due runs in order, at its own time', async t => {
    const clock = fakeClock(0)
    const told: [string, number][] = []
    clock.after(30, () => told.push(['late', clock.now()]))
    clock.after(10, () => told.push(['soon', clock.now()]))
    clock.every(20, () => told.push(['each', clock.now()]))
    await clock.tick(40)
    t.same(told, [
      ['soon', 10],
      ['each', 20],
      ['late', 30],
      ['each', 40],
    ])
  })
})

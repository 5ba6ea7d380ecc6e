import t from 'tap'
import { reconcileLoop } from '../../../../control/core/transitions/loop.ts'
import { silentLog } from '../../../../shared/log.ts'
import { fakeClock } from '../../../support/clock.ts'

const gate = () => Promise.withResolvers<void>()

t.test('one run per key at a time; pokes meanwhile fall together into one more run', async t => {
  const clock = fakeClock()
  const door = gate()
  let runs = 0
  let at = 0
  let most = 0
  const loop = reconcileLoop(
    async () => {
      runs++
      most = Math.max(most, ++at)
      if (runs === 1) await door.promise
      at--
      return undefined
    },
    { name: 'test', concurrency: 4 },
    { clock, log: silentLog },
  )
  loop.poke('a')
  loop.poke('a')
  loop.poke('a')
  await clock.tick(0)
  t.equal(runs, 1)
  door.resolve()
  await clock.tick(0)
  t.equal(runs, 2, 'the pokes during the run made one more')
  t.equal(most, 1, 'never two at once')
  await loop.close()
})

t.test('no more runs at once than the limit; the rest follow', async t => {
  const clock = fakeClock()
  const doors = new Map<string, ReturnType<typeof gate>>()
  const loop = reconcileLoop(
    async key => {
      const door = gate()
      doors.set(key, door)
      await door.promise
      return undefined
    },
    { name: 'test', concurrency: 2 },
    { clock, log: silentLog },
  )
  for (const key of ['a', 'b', 'c']) loop.poke(key)
  await clock.tick(0)
  t.same([...doors.keys()], ['a', 'b'])
  doors.get('a')?.resolve()
  await clock.tick(0)
  t.same([...doors.keys()], ['a', 'b', 'c'])
  for (const door of doors.values()) door.resolve()
  await loop.close()
})

t.test('a run that leaves its place makes room for another, once, and is waited for all the same', async t => {
  const clock = fakeClock()
  const doors = new Map<string, ReturnType<typeof gate>>()
  const loop = reconcileLoop(
    async (key, _signal, leave) => {
      const door = gate()
      doors.set(key, door)
      if (key === 'a') {
        leave()
        leave()
      }
      await door.promise
      return undefined
    },
    { name: 'test', concurrency: 1 },
    { clock, log: silentLog },
  )
  for (const key of ['a', 'b', 'c', 'd']) loop.poke(key)
  await clock.tick(0)
  t.same([...doors.keys()], ['a', 'b'])
  loop.poke('a')
  doors.get('a')?.resolve()
  await clock.tick(0)
  t.same([...doors.keys()], ['a', 'b'], 'the place that it left is not free again by its end')
  doors.get('b')?.resolve()
  await clock.tick(0)
  t.same([...doors.keys()], ['a', 'b', 'c'])
  const order: string[] = []
  const closing = loop.close().then(() => order.push('closed'))
  await clock.tick(0)
  t.same(order, [])
  for (const door of doors.values()) door.resolve()
  await closing
})

t.test('again after a while, sooner when poked', async t => {
  const clock = fakeClock()
  let runs = 0
  const loop = reconcileLoop(
    async () => {
      runs++
      return { againMs: 1000 }
    },
    { name: 'test', concurrency: 1 },
    { clock, log: silentLog },
  )
  loop.poke('a')
  await clock.tick(999)
  t.equal(runs, 1)
  await clock.tick(1)
  t.equal(runs, 2)
  await clock.tick(10)
  loop.poke('a')
  await clock.tick(0)
  t.equal(runs, 3)
  await clock.tick(999)
  t.equal(runs, 3, 'the older timer is gone')
  await clock.tick(1)
  t.equal(runs, 4)
  await loop.close()
})

t.test('a failure backs off, twice as long each time, and a poke does not cut it short', async t => {
  const clock = fakeClock()
  let runs = 0
  const loop = reconcileLoop(
    async () => {
      runs++
      if (runs <= 3) throw new Error('the world is not ready')
      return undefined
    },
    { name: 'test', concurrency: 1 },
    { clock, log: silentLog },
  )
  loop.poke('a')
  await clock.tick(0)
  t.equal(runs, 1)
  loop.poke('a')
  await clock.tick(99)
  t.equal(runs, 1)
  await clock.tick(1)
  t.equal(runs, 2)
  await clock.tick(199)
  t.equal(runs, 2)
  await clock.tick(1)
  t.equal(runs, 3)
  await clock.tick(400)
  t.equal(runs, 4)
  await clock.tick(60_000)
  t.equal(runs, 4, 'done is done')
  await loop.close()
})

t.test('close waits for the run under way, tells it, and starts no more', async t => {
  const clock = fakeClock()
  const seen: string[] = []
  const loop = reconcileLoop(
    async (key, signal) => {
      seen.push(key)
      await new Promise(resolve => signal.addEventListener('abort', resolve))
      seen.push('stopped')
      return { againMs: 0 }
    },
    { name: 'test', concurrency: 1 },
    { clock, log: silentLog },
  )
  loop.poke('a')
  loop.poke('b')
  await clock.tick(0)
  await loop.close()
  loop.poke('c')
  await clock.tick(1000)
  t.same(seen, ['a', 'stopped'])
})

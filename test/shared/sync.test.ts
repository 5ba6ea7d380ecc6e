import t from 'tap'
import { keyedMutex, semaphore } from '../../shared/sync.ts'

const gate = () => Promise.withResolvers<void>()

t.test('a semaphore never lets more in than its limit, in the order they came', async t => {
  const limited = semaphore(2)
  const order: number[] = []
  let running = 0
  let most = 0
  const doors = Array.from({ length: 6 }, gate)
  const tasks = doors.map((door, i) =>
    limited(async () => {
      order.push(i)
      most = Math.max(most, ++running)
      await door.promise
      running--
    }),
  )
  for (const door of doors) {
    door.resolve()
    // One who comes between a release and the next in line's turn must not take the place.
    await Promise.resolve()
    tasks.push(limited(async () => void (most = Math.max(most, running + 1))))
  }
  await Promise.all(tasks)
  t.equal(most, 2)
  t.same(order, [0, 1, 2, 3, 4, 5])
})

t.test('a task that fails gives its place back', async t => {
  const limited = semaphore(1)
  await t.rejects(
    limited(async () => {
      throw new Error('no')
    }),
  )
  t.equal(await limited(async () => 7), 7)
})

t.test('a keyed mutex runs one at a time per key, others side by side, and goes on after a failure', async t => {
  const locked = keyedMutex()
  const door = gate()
  const seen: string[] = []
  const first = locked('a', async () => {
    await door.promise
    seen.push('a1')
    throw new Error('no')
  })
  const second = locked('a', async () => seen.push('a2'))
  await locked('b', async () => seen.push('b'))
  t.same(seen, ['b'])
  door.resolve()
  await t.rejects(first)
  await second
  t.same(seen, ['b', 'a1', 'a2'])
})

import t from 'tap'
import { changes } from '../../../../control/core/transitions/changes.ts'

// The bound is a timer that keeps no process alive; a server has its socket for that.
const alive = setInterval(() => {}, 1000)
t.teardown(() => clearInterval(alive))

t.test('a waiter sees the change that happens between its look and its wait', async t => {
  const c = changes()
  let value: number | undefined
  const got = c.until(
    'a',
    async () => {
      const seen = value
      if (seen === undefined) {
        value = 7
        c.changed('a')
      }
      return seen
    },
    { what: 'a value', boundMs: 30_000 },
  )
  t.equal(await got, 7)
})

t.test('a change of another is not ours, and the wait is bounded', async t => {
  const c = changes()
  let looks = 0
  const got = c.until('a', async () => void looks++, { what: 'waiting', boundMs: 50 })
  c.changed('b')
  await t.rejects(got, { code: 'timed_out', message: 'waiting timed out after 50 ms' })
  t.equal(looks, 1)
})

t.test('a caller that goes away ends its wait with its own reason', async t => {
  const c = changes()
  const gone = new AbortController()
  const got = c.until('a', async () => undefined, { what: 'waiting', boundMs: 30_000, signal: gone.signal })
  gone.abort(new Error('gone'))
  await t.rejects(got, { message: 'gone' })
})

t.test('several that wait for the same are all told of each change', async t => {
  const told = changes()
  let free = 0
  const wait = () => told.until('a', async () => (free > 0 ? free-- : undefined), { what: 'a turn', boundMs: 5_000 })
  const all = Array.from({ length: 5 }, wait)
  for (let at = 0; at < 5; at++) {
    await new Promise(resolve => setTimeout(resolve, 10))
    free++
    told.changed('a')
  }
  t.equal((await Promise.all(all)).length, 5)
})

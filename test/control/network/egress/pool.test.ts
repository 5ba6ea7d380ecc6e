/** Connections that wait for the next request are so many and no more, and none waits too long. */
import { EventEmitter } from 'node:events'
import t from 'tap'
import { createPool } from '../../../../control/network/egress/http/pool.ts'
import type { Upstream } from '../../../../control/network/egress/http/upstream.ts'

const setup = () => {
  const clock = { ms: 0 }
  const open = new Set<Upstream>()
  const pool = createPool({ now: () => clock.ms })
  const connect = (): Upstream => {
    const socket = new EventEmitter()
    const upstream = {
      socket,
      destroy() {
        open.delete(upstream)
        socket.emit('close')
      },
    } as unknown as Upstream
    open.add(upstream)
    return upstream
  }
  const give = (key: string, times = 1) => {
    for (let time = 0; time < times; time++) pool.give(key, connect())
  }
  return { clock, open, pool, connect, give }
}

t.test('as many as a busy program uses at once are kept, and are used again', async t => {
  const { open, pool, give } = setup()
  give('a', 70)
  t.equal(open.size, 64)
  const taken = new Set(Array.from({ length: 64 }, () => pool.take('a')))
  t.equal(taken.size, 64)
  t.equal(pool.take('a'), undefined)
  t.equal(pool.take('b'), undefined)
  for (const one of taken) pool.give('a', one as Upstream)
  t.equal(open.size, 64)
})

t.test('and no more of one sandbox, wherever they go', async t => {
  const { open, pool, connect, give } = setup()
  for (const key of 'abcd') give(key, 64)
  t.equal(open.size, 256)
  give('e')
  t.equal(open.size, 193, 'the place that was longest not used has gone')
  t.equal(pool.take('a'), undefined)
  // Those that are taken, and those that close by themselves, are not counted any more.
  for (let time = 0; time < 64; time++) pool.take('b')
  for (const one of [...open].slice(-1)) one.socket.emit('close')
  const last = connect()
  pool.give('f', last)
  give('g', 64)
  t.equal(pool.take('f'), last)
  for (let at = 0; at < 70; at++) give(`k${at}`)
  t.ok(pool.take('k69'))
  t.equal(pool.take('c'), undefined, 'nor are more than 64 places')
})

t.test('what has waited for four seconds is not used, nor kept', async t => {
  const { clock, open, pool, give } = setup()
  give('a')
  clock.ms = 4_001
  give('a')
  give('b')
  pool.sweep()
  t.equal(open.size, 2)
  clock.ms = 9_000
  t.equal(pool.take('a'), undefined)
  t.equal(open.size, 1)
  pool.close()
  t.equal(open.size, 0)
  give('a')
  t.equal(open.size, 0, 'and none after the end')
})

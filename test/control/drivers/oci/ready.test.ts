import { once } from 'node:events'
import { appendFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createConnectionServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { saidSince, saidSoFar } from '../../../../control/drivers/oci/start.ts'
import { untilReady, type ReadyInput } from '../../../../control/drivers/oci/ready.ts'
import { systemClock } from '../../../../shared/clock.ts'

const clock = systemClock()

/** A port with a server of HTTP that counts its requests, or with nobody. */
const port = async (t: Test, answering: boolean) => {
  let asked = 0
  const server = createServer((_, answer) => {
    asked++
    answer.end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = () => new Promise(resolve => server.close(resolve).closeAllConnections())
  if (answering) t.teardown(close)
  else await close()
  return { port, asked: () => asked }
}

const input = (t: Test, given: Partial<ReadyInput>): ReadyInput => {
  const output = join(t.testdir(), 'output')
  writeFileSync(output, 'before ready\n')
  return {
    host: '127.0.0.1',
    port: 1,
    output,
    hasSaid: () => saidSince({ output }, 13).includes('ready'),
    hasEnded: async () => false,
    lastWords: async () => 'its last words',
    ...given,
  }
}

t.test('what it says is seen, and nobody asks', async t => {
  const { port: at, asked } = await port(t, true)
  // Later than what is heard of the file at once, and sooner than the first question.
  const slow = { ...clock, sleep: (_: number, signal?: AbortSignal) => clock.sleep(60_000, signal) }
  const given = input(t, { port: at })
  t.equal(saidSoFar(given), 13)
  t.equal(saidSoFar({ output: join(t.testdirName, 'none') }), 0)
  let is = false
  const ready = untilReady(given, slow).then(() => (is = true))
  for (const piece of ['another ', 'line\n']) {
    appendFileSync(given.output, piece)
    await clock.sleep(5)
    t.not(is, true, 'not yet')
  }
  appendFileSync(given.output, 'ready\n')
  await ready
  t.equal(asked(), 0)
})

t.test('one that says nothing is asked, also where its output cannot be watched', async t => {
  const { port: at, asked } = await port(t, true)
  await untilReady(input(t, { port: at }), clock)
  await untilReady(input(t, { port: at, output: '/not/there', hasSaid: () => false }), clock)
  t.equal(asked(), 2)
})

t.test('nobody waits for the dead, or goes on when it is not wanted any more', async t => {
  const { port: at } = await port(t, false)
  await t.rejects(untilReady(input(t, { port: at, hasEnded: async () => true }), clock), { message: /its last words/ })
  const unwanted = new AbortController()
  const waiting = untilReady(input(t, { port: at, signal: unwanted.signal }), clock)
  unwanted.abort(new Error('not wanted'))
  await t.rejects(waiting, { message: 'not wanted' })
})

t.test('one whose output is watched is asked seldom, and its end is looked for each time', async t => {
  let asked = 0
  // Takes calls, and answers none.
  const server = createConnectionServer(socket => {
    asked++
    socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port: at } = server.address() as AddressInfo
  const tries = async (given: Partial<ReadyInput>) => {
    const waits: number[] = []
    let left = 4
    asked = 0
    const counting = {
      ...clock,
      sleep: (ms: number) => {
        waits.push(ms)
        return clock.sleep(1)
      },
    }
    const hasEnded = async () => --left === 0
    await t.rejects(untilReady(input(t, { port: at, hasEnded, ...given }), counting), { message: /its last words/ })
    return { waits, asked }
  }
  t.same(await tries({}), { waits: Array(4).fill(200), asked: 1 })
  t.same(await tries({ output: '/not/there', hasSaid: () => false }), { waits: Array(16).fill(25), asked: 16 })
})

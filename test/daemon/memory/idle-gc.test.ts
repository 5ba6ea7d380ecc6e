import { EventEmitter, once } from 'node:events'
import { createServer, get, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { startIdleGc } from '../../../daemon/memory/idle-gc.ts'

/** What the collector was asked for, as events and in order. */
const asked = new EventEmitter()
const calls: string[] = []
const note = (what: string) => () => {
  calls.push(what)
  asked.emit(what)
}
let held = 0
let growth = 2 * 1024 * 1024
startIdleGc(
  () => ({
    young: note('young'),
    old: note('old'),
    all: note('all'),
    release: note('release'),
    held: () => (held += growth),
  }),
  0,
)

/** Another one, which must not collect before that many milliseconds. */
const firstMs = 3_000
const begunAt = performance.now()
const firstAfter = new Promise<number>(resolve => {
  const nothing = () => {}
  const all = () => resolve(performance.now() - begunAt)
  startIdleGc(() => ({ young: nothing, old: nothing, all, release: nothing, held: () => Infinity }), firstMs)
})

const opened: ServerResponse[] = []
const server = createServer((_, response) => {
  response.write('begun')
  opened.push(response)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
// The timers of what is tested do not keep a process alive.
const alive = setInterval(() => {}, 1_000)
t.teardown(() => {
  clearInterval(alive)
  server.close()
  server.closeAllConnections()
})

const request = async (): Promise<ServerResponse> => {
  const { port } = server.address() as AddressInfo
  const [answer] = await once(get({ host: '127.0.0.1', port, agent: false }), 'response')
  answer.on('error', () => {}).resume()
  return opened.at(-1) as ServerResponse
}

t.test('a daemon that nobody has asked anything yet rests too', async () => {
  if (!calls.includes('all')) await once(asked, 'all')
})

t.test('what a long request leaves behind is collected after its end, also when it is cut', async t => {
  for (const end of ['end', 'destroy'] as const) {
    const all = once(asked, 'all')
    const response = await request()
    await all
    const again = once(asked, 'all')
    response[end]()
    await again
    t.pass(`collected after ${end}`)
  }
})

t.test('buffers are collected while requests go on', async t => {
  const before = calls.length
  const old = once(asked, 'old')
  const response = await request()
  const kept = Buffer.alloc(64 * 1024 * 1024)
  await old
  t.equal(
    calls.slice(before).find(call => call !== 'all' && call !== 'release'),
    'young',
    'the cheap way is tried first',
  )
  t.equal(kept.length, 64 * 1024 * 1024)
  response.end()
})

t.test('a machine that was asleep is not collected in the moment in which it wakes', async t => {
  ;(await request()).end()
  const before = calls.length
  // As a frozen one: no processor is used, and all timers are due.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500)
  await new Promise(resolve => setTimeout(resolve, 1))
  await new Promise(resolve => setImmediate(resolve))
  t.strictSame(calls.slice(before), [])
})

t.test('not everything is collected soon after the start', async t => {
  t.ok((await firstAfter) >= firstMs)
})

t.test('where nothing has grown nothing is collected, but pages are given back', async t => {
  growth = 0
  const released = once(asked, 'release')
  const before = calls.length
  ;(await request()).end()
  await released
  t.notOk(calls.slice(before).includes('all'))
})

t.test('what the start has left is collected at once when that is asked for, and once', async t => {
  let [all, grown] = [0, 0]
  const nothing = () => {}
  const held = () => (grown += 5_000_000)
  const collector = { young: nothing, old: nothing, all: () => void all++, release: nothing, held }
  const { tidy } = startIdleGc(() => collector, 60_000)
  t.equal(all, 0)
  tidy()
  tidy()
  t.equal(all, 1)
})

/** A daemon that is the tenant's and speaks the channel: whatever it answers, the host's own questions end in time and take little. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { createConnections, type Connections } from '../../../../control/core/channel/connections.ts'
import { keepAliveCount } from '../../../../control/core/machines/keep-alive.ts'
import { teller } from '../../../../control/core/machines/tell.ts'
import { askToEnd } from '../../../../control/core/machines/terminate.ts'
import type { Address } from '../../../../control/core/store/store.ts'
import { systemClock } from '../../../../shared/clock.ts'

const program = new URL('../../../programs/liar.py', import.meta.url).pathname
/** The longest of the questions' own limits, and what a busy box adds. */
const longestMs = 5_000 + 10_000
const mostMemory = 256 * 2 ** 20

const liars = async (t: Test) => {
  const child = spawn('python3', [program], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(async () => {
    child.stdin.end()
    await once(child, 'exit')
  })
  const opened: string[] = []
  const lines = createInterface({ input: child.stdout })
  const [first] = (await once(lines, 'line')) as [string]
  lines.on('line', way => opened.push(way))
  const connections = createConnections({ keyOf: () => Buffer.alloc(32, 7) }, systemClock())
  t.teardown(connections.close)
  return { ports: JSON.parse(first) as Record<string, number>, opened, connections }
}

const addressOf = (port: number): Address => ({
  host: '127.0.0.1',
  port: 1,
  channel: { port, machine: `m${port}`, generation: 'g' },
})

/** What each of the host's questions came to. */
const ask = (connections: Connections, address: Address) =>
  Promise.allSettled([
    teller(connections)(address, { environment: {} }),
    keepAliveCount(connections, address, false),
    askToEnd(connections, address),
  ])

/** The most memory that was added while `work` goes on. */
const watched = async (work: () => Promise<unknown>) => {
  const before = process.memoryUsage.rss()
  let memory = 0
  const timer = setInterval(() => (memory = Math.max(memory, process.memoryUsage.rss() - before)), 20)
  await work()
  clearInterval(timer)
  return { memory }
}

/** Ways that are an answer all the same. */
const believed = new Set(['good', 'two-answers', 'endless-answers'])

t.test('whatever a daemon answers, the host goes on', async t => {
  const { ports, opened, connections } = await liars(t)
  const slowest: Record<string, number> = {}
  const one = async ([way, port]: [string, number]) => {
    // Twice: what is left of an answer must not be the next one's. What was waited for in vain has left nothing.
    for (let turn = 0; turn < 2 && (slowest[way] ?? 0) < 1_500; turn++) {
      const start = performance.now()
      const answers = await ask(connections, addressOf(port))
      slowest[way] = Math.max(slowest[way] ?? 0, performance.now() - start)
      for (const answer of answers)
        if (answer.status === 'fulfilled') {
          t.ok(believed.has(way), `${way} is no answer: ${JSON.stringify(answer.value)}`)
          t.match(JSON.stringify(answer.value), /^(\[\]|0)$/, `${way} is answered by its own answer`)
        }
    }
  }
  const { memory } = await watched(() =>
    Promise.all(
      Object.entries(ports)
        .filter(([way]) => way !== 'trap')
        .map(one),
    ),
  )
  t.same(
    Object.entries(slowest).filter(([, ms]) => ms > longestMs),
    [],
    'each question has an end',
  )
  t.ok(memory < mostMemory, `${memory} bytes more`)
  t.ok(opened.includes('redirect'))
  t.notOk(opened.includes('trap'), 'nobody is sent elsewhere')
})

t.test('what has no limit in the parser has one before it', async t => {
  const { ports, connections } = await liars(t)
  for (const way of ['endless-size', 'endless-extension', 'endless-reason', 'endless-hints'])
    await t.rejects(
      keepAliveCount(connections, addressOf(ports[way] ?? 0), false),
      /its (answer|head) is too long|is no HTTP|not in chunks/,
      way,
    )
})

t.test('a daemon that is silent is asked on so many connections, however often', async t => {
  const { ports, connections } = await liars(t)
  const address = addressOf(ports['silent'] ?? 0)
  const open = () => readdirSync('/proc/self/fd').length
  const before = open()
  let most = 0
  const counting = setInterval(() => (most = Math.max(most, open() - before)), 50)
  const { memory } = await watched(() =>
    Promise.allSettled(Array.from({ length: 2_000 }, () => keepAliveCount(connections, address, false))),
  )
  clearInterval(counting)
  t.ok(most > 0 && most <= 300, `${most} connections at once`)
  t.ok(memory < mostMemory, `${memory} bytes more`)
})

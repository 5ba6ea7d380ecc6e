/** A daemon that lies on the channel of a real sandbox (test/programs/liar.py): what it costs its host, and others on the box. */
import { readFileSync, readdirSync } from 'node:fs'
import type { Test } from 'tap'
import type { Server } from './server.ts'

/** The longest of the host's own questions, and what a busy box adds. */
const longestMs = 5_000 + 10_000
const mostMemory = 256 * 2 ** 20
/** The host's own connections to one daemon, those of the clients here, and what comes and goes meanwhile. */
const mostFiles = 256 + 100 + 100
/** Of an answer, as a client that does not take all of it. */
const mostRead = 2 ** 20

const deploy = async ({ call, until }: Server, name: string, variable: string, value: string, more: object = {}) => {
  const runtime = { image: 'base', memory: 256, envs: [{ name: variable, value }], ...more }
  const made = await call('POST', '/v0/sandboxes', { metadata: { name }, spec: { runtime } })
  if (made.status !== 200) throw new Error(`no sandbox: ${made.text}`)
  // A daemon that never answers is waited for three times.
  await until(name, ({ status }) => status !== 'DEPLOYING', undefined, 300_000)
}

/** The most memory and descriptors that the server has more while `work` goes on. */
const watched = async (s: Server, work: () => Promise<unknown>) => {
  const memory = () => Number(/VmRSS:\s*(\d+)/.exec(readFileSync(`/proc/${s.pid()}/status`, 'utf8'))?.[1]) * 1024
  const files = () => readdirSync(`/proc/${s.pid()}/fd`).length
  const before = { memory: memory(), files: files() }
  const most = { memory: 0, files: 0 }
  const look = () => {
    most.memory = Math.max(most.memory, memory() - before.memory)
    most.files = Math.max(most.files, files() - before.files)
  }
  const timer = setInterval(look, 20)
  await work().finally(() => clearInterval(timer))
  look()
  return most
}

interface Asked {
  readonly status: number
  readonly text: string
  readonly ms: number
  /** The gateway has answered, not the sandbox. */
  readonly isOurs: boolean
}

/** A client that waits for so long and takes the first megabyte; status 0 where no whole head has come. */
const ask = async ({ url, key }: Server, path: string, within: number | AbortSignal): Promise<Asked> => {
  const start = performance.now()
  const answered = (status: number, text: string, isOurs: boolean) => ({
    status,
    text,
    isOurs,
    ms: performance.now() - start,
  })
  const signal = typeof within === 'number' ? AbortSignal.timeout(within) : within
  try {
    const answer = await fetch(new URL(path, url), {
      headers: { authorization: `Bearer ${key}` },
      signal,
      redirect: 'manual',
    })
    let text = ''
    try {
      for await (const piece of answer.body ?? [])
        if ((text += Buffer.from(piece).toString('latin1')).length > mostRead) break
    } catch {
      // It broke off, or goes on for longer than this client does.
    }
    return answered(answer.status, text, answer.headers.get('x-svc-source') === 'platform')
  } catch {
    return answered(0, '', false)
  }
}

const lying = '/default/sandboxes/lying'

/** Chooses how the daemon lies to the host itself, or greets; the ways and greetings there are. */
const choose = async (s: Server, way: string): Promise<[string[], string[]]> => {
  const { status, text } = await ask(s, `${lying}/port/7100/${way}`, longestMs)
  if (status !== 200) throw new Error(`the liar does not listen: ${status} ${text}`)
  return JSON.parse(text) as [string[], string[]]
}

/** While `work` goes on, another machine is made, and does what it is asked to. */
const beside = async (t: Test, s: Server, name: string, work: () => Promise<unknown>) => {
  let isOver = false
  const other = async () => {
    await deploy(s, name, 'HONEST', '1')
    for (let turn = 0; turn === 0 || !isOver; turn++) {
      const start = performance.now()
      const command = { command: 'echo beside', waitForCompletion: true }
      const { body, status } = await s.call('POST', `/default/sandboxes/${name}/process`, command)
      const inTime = performance.now() - start < longestMs
      t.match({ status, body, inTime }, { status: 200, body: { stdout: 'beside\n' }, inTime: true }, 'another is used')
      await new Promise(resolve => setTimeout(resolve, 200))
    }
    await s.call('DELETE', `/v0/sandboxes/${name}`)
  }
  const [{ memory, files }] = await Promise.all([watched(s, () => work().finally(() => (isOver = true))), other()])
  t.ok(memory < mostMemory, `${memory} bytes more`)
  t.ok(files < mostFiles, `${files} descriptors more`)
}

/** What the host itself asks: before a client's request it tells the daemon what its record says by now. */
const liesToHost = async (t: Test, s: Server, way: string) => {
  await choose(s, way)
  t.equal((await s.call('PUT', '/v0/sandboxes/lying', { metadata: { labels: { way } }, spec: {} })).status, 200)
  const { ms, text } = await ask(s, `${lying}/health`, 2 * longestMs)
  t.ok(ms < longestMs, `${way}: a client's request is passed on after ${ms} ms`)
  return text
}

/** Clients have this long, and longer while too few have an answer: a liar in Python takes seconds for a heap of questions on a busy box. */
const clientMs = 4_000

/** What clients ask, each twice, so many at once. */
const liesToClients = async (t: Test, s: Server, ways: readonly string[], atOnce: number) => {
  const [asked, answers] = [ways.concat(ways), [] as Asked[]]
  const isEnough = () => answers.filter(({ isOurs }) => isOurs).length >= ways.length / 6
  while (asked.length > 0) {
    const over = new AbortController()
    const end = performance.now() + longestMs
    const timer = setInterval(() => {
      const left = end - performance.now()
      if (left <= 0 || (left <= longestMs - clientMs && (asked.length > 0 || isEnough()))) over.abort()
    }, 100)
    await Promise.all(
      asked.splice(0, atOnce).map(async way => answers.push(await ask(s, `${lying}/lie/${way}`, over.signal))),
    )
    clearInterval(timer)
  }
  const failures = answers.filter(({ isOurs }) => isOurs)
  t.ok(isEnough(), `${failures.length} of ${answers.length} are failures of the gateway's own`)
  for (const { status, text } of failures) {
    t.ok([502, 503].includes(status), `${status}`)
    t.match(text, /"UPSTREAM_(FAILED|BUSY)"/)
  }
}

const dies = async (t: Test, s: Server, way: string) => {
  await deploy(s, way, 'LIE', way)
  const { status, events } = (await s.call('GET', `/v0/sandboxes/${way}`)).body
  t.match(
    { status, event: events.at(-1) },
    { status: 'FAILED', event: { status: 'FAILED', message: /never|no answer/ } },
  )
  await s.call('DELETE', `/v0/sandboxes/${way}`)
}

/** `every` way and greeting for what the host itself asks, which takes ten minutes, or one; for what clients ask always all. */
export const triesOfLiar = async (t: Test, s: Server, every: boolean): Promise<void> => {
  await deploy(s, 'lying', 'LIE', 'good', { terminationGracePeriodSeconds: 2 })
  const [ways, greetings] = await choose(s, 'silent')
  t.ok(ways.length + greetings.length >= 50, `${ways.length} ways, ${greetings.length} greetings`)
  const fails = every ? ['exits', 'absent'] : ['exits']
  await beside(t, s, 'beside', () =>
    Promise.all([
      liesToHost(t, s, 'silent').then(text => t.match(text, /"applied"/)),
      liesToClients(t, s, ways, every ? 10 : 2 * ways.length),
      ...fails.map(way => dies(t, s, way)),
    ]),
  )
  if (every)
    await beside(t, s, 'beside-again', async () => {
      for (const way of [...ways, ...greetings]) {
        // A daemon that was not told is told again after five seconds.
        await new Promise(resolve => setTimeout(resolve, 5_000))
        await liesToHost(t, s, way)
      }
    })
  await choose(s, 'endless-hints')
  t.equal((await s.call('DELETE', '/v0/sandboxes/lying')).status, 200)
  const { events } = await s.until('lying', ({ status }) => status === 'TERMINATED')
  t.match(events.at(-1), { status: 'TERMINATED' })
}

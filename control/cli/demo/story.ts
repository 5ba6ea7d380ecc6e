/** The whole path in one go, told line by line; every line shows what a real call answered. */
import type { Clock } from '../../../shared/clock.ts'
import { createClient, managementRoutes, sandboxRoutes, type Client } from '../../index.ts'

export interface StoryDeps {
  /** Address of the host, and a key of an admin. */
  readonly url: string
  readonly key: string
  readonly clock: Clock
  readonly say: (line: string) => void
}

/** A host and the sandbox of the story, over their public addresses. */
interface Scene extends StoryDeps {
  readonly host: Client
  readonly sandbox: Client
  readonly sandboxUrl: string
}

const { accounts, billing, sandboxes } = managementRoutes
const { files, processes } = sandboxRoutes
const name = 'demo'
const patienceMs = 60_000

const program = `import http.server, os, time
for n in range(1, 4):
    print(f"step {n} on {os.uname().nodename}", flush=True)
    time.sleep(0.2)
http.server.HTTPServer(("0.0.0.0", 3000), http.server.SimpleHTTPRequestHandler).serve_forever()
`

/** Polls until `look` gives a value; throws when that takes longer than a minute. */
const until = async <T>(clock: Clock, what: string, look: () => Promise<T | undefined>): Promise<T> => {
  const start = clock.elapsed()
  for (;;) {
    const value = await look()
    if (value !== undefined) return value
    if (clock.elapsed() - start > patienceMs) throw new Error(`${what} took longer than ${patienceMs / 1000} s`)
    await clock.sleep(50)
  }
}

const params = { sandboxName: name }
const app = { params: { identifier: 'app' } }

const stream = async ({ sandbox, say }: Scene): Promise<void> => {
  await sandbox.ask(processes.start, { body: { command: 'python3 -u app.py', name: 'app', workingDir: '/root' } })
  for await (const line of (await sandbox.stream(processes.stream, app)).lines()) {
    if (!line.startsWith('stdout:')) continue
    say(`     ${line.slice('stdout:'.length)}`)
    if (line.includes('step 3')) return
  }
  throw new Error('the output ended before its last line')
}

/** As a browser or any other program reaches what a sandbox serves. */
const answerOnPort = async ({ sandboxUrl, key, clock, say }: Scene): Promise<void> => {
  const text = await until(clock, 'waiting for port 3000', async () => {
    const answer = await fetch(`${sandboxUrl}/port/3000/app.py`, { headers: { authorization: `Bearer ${key}` } })
    const [line = ''] = (await answer.text()).split('\n')
    if (answer.ok) return line
    // The program opens its port a moment after its last line.
    if (answer.status !== 502) throw new Error(`port 3000 answered ${answer.status}: ${line}`)
    return undefined
  })
  say(`  5. port 3000 answers through the gateway: ${text}`)
}

const sleepAndWake = async ({ host, sandbox, clock, say }: Scene): Promise<void> => {
  await until(clock, 'falling asleep', async () =>
    (await host.ask(sandboxes.get, { params })).state === 'STANDBY' ? true : undefined,
  )
  say('  6. nobody called for a second: STANDBY, its processes frozen, its memory no longer billed as running')
  await clock.sleep(1_000)
  const start = clock.elapsed()
  const { status } = await sandbox.ask(processes.get, app)
  say(
    `  7. the next request wakes it: answered in ${(clock.elapsed() - start).toFixed(1)} ms, the program is ${status}`,
  )
}

const bill = async ({ host, clock, say }: Scene, startedAt: number): Promise<void> => {
  const [account] = await host.ask(accounts.list)
  const { data, summary } = await host.ask(billing.metrics, {
    params: { accountId: account?.id ?? '' },
    query: {
      startTime: new Date(startedAt).toISOString(),
      endTime: new Date(clock.now()).toISOString(),
      groupBy: 'billing_dimension',
    },
  })
  for (const { billingDimension, summary } of data)
    say(`     ${billingDimension}: ${summary.usage?.toFixed(3)} GB-seconds, ${summary.cost.toFixed(9)} USD`)
  say(`     total ${summary.totalCost.toFixed(9)} USD`)
}

const work = async (scene: Scene, begun: number): Promise<void> => {
  const { host, sandbox, clock, say } = scene
  const ran = await sandbox.ask(processes.start, {
    body: {
      command: '. /etc/os-release; echo "$PRETTY_NAME, $(python3 -V), node $(node -v)"',
      waitForCompletion: true,
    },
  })
  const ms = Math.round(clock.elapsed() - begun)
  say(`  2. first command answered ${ms} ms after the create was sent: ${ran.logs?.trim()}`)
  await sandbox.ask(files.write, { params: { path: '/root/app.py' }, body: program })
  const { files: listed } = await sandbox.ask(files.readTree, { params: { path: '/root' } })
  say(`  3. a file written into it: /root/app.py, ${listed.find(file => file.name === 'app.py')?.size} bytes`)
  say('  4. it runs, and its output streams back:')
  await stream(scene)
  await answerOnPort(scene)
  await sleepAndWake(scene)
  await host.ask(sandboxes.remove, { params })
  await until(clock, 'deleting', async () =>
    (await host.ask(sandboxes.get, { params })).status === 'TERMINATED' ? true : undefined,
  )
}

/** Tells the story against a host that serves; leaves nothing behind. Throws at the first thing that is not as told. */
export const story = async (deps: StoryDeps): Promise<void> => {
  const { url, key, clock, say } = deps
  const host = createClient({ api: 'management', baseUrl: url, credential: key })
  const startedAt = clock.now()
  const begun = clock.elapsed()
  try {
    const body = { metadata: { name }, spec: { runtime: { image: 'base', memory: 1024 } } }
    const { metadata, status } = await host.ask(sandboxes.create, { body })
    const sandboxUrl = metadata.url ?? ''
    say(`  1. sandbox "${name}" from image base, 1 GB: ${status}`)
    const sandbox = createClient({ api: 'sandbox', baseUrl: sandboxUrl, credential: key })
    const scene = { ...deps, host, sandbox, sandboxUrl }
    try {
      await work(scene, begun)
    } finally {
      await sandbox.close()
    }
    say('  8. deleted: nothing of it is left on this machine but its bill:')
    await bill(scene, startedAt)
  } finally {
    await host.close()
  }
}

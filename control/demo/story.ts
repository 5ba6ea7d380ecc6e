/** The whole path in one go, told line by line; every line shows what a real call answered. */
import type { Clock } from '../../shared/clock.ts'
import type { Client } from './client.ts'

interface Sandbox {
  readonly metadata: { readonly name: string; readonly url: string }
  readonly status: string
  readonly state?: string
}

interface Metrics {
  readonly summary: { readonly totalCost: number; readonly totalUsage?: number }
  readonly data: readonly {
    readonly billingDimension?: string
    readonly summary: { readonly cost: number; readonly usage?: number }
  }[]
}

export interface StoryDeps {
  readonly client: Client
  readonly clock: Clock
  readonly say: (line: string) => void
}

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

const stream = async ({ client, say }: StoryDeps, url: string): Promise<void> => {
  const body = { command: 'python3 -u app.py', name: 'app', workingDir: '/root' }
  await client.json('POST', `${url}/process`, body)
  for await (const line of client.lines('GET', `${url}/process/app/logs/stream`, undefined)) {
    if (!line.startsWith('stdout:')) continue
    say(`     ${line.slice('stdout:'.length)}`)
    if (line.includes('step 3')) return
  }
  throw new Error('the output ended before its last line')
}

const answerOnPort = async ({ client, clock, say }: StoryDeps, url: string): Promise<void> => {
  const text = await until(clock, 'waiting for port 3000', async () => {
    try {
      for await (const line of client.lines('GET', `${url}/port/3000/app.py`, undefined)) return line
    } catch (error) {
      // The program opens its port a moment after its last line.
      if (!String(error).includes('answered 502')) throw error
    }
    return undefined
  })
  say(`  5. port 3000 answers through the gateway: ${text}`)
}

const sleepAndWake = async ({ client, clock, say }: StoryDeps, url: string): Promise<void> => {
  await until(clock, 'falling asleep', async () =>
    (await client.json<Sandbox>('GET', `/v0/sandboxes/${name}`)).state === 'STANDBY' ? true : undefined,
  )
  say('  6. nobody called for a second: STANDBY, its processes frozen, its memory no longer billed as running')
  await clock.sleep(1_000)
  const start = clock.elapsed()
  const { status } = await client.json<{ status: string }>('GET', `${url}/process/app`)
  say(
    `  7. the next request wakes it: answered in ${(clock.elapsed() - start).toFixed(1)} ms, the program is ${status}`,
  )
}

const bill = async ({ client, clock, say }: StoryDeps, startedAt: number): Promise<void> => {
  const [account] = await client.json<{ id: string }[]>('GET', '/v0/accounts')
  const window = `startTime=${new Date(startedAt).toISOString()}&endTime=${new Date(clock.now()).toISOString()}`
  const metrics = await client.json<Metrics>(
    'GET',
    `/v0/accounts/${account?.id}/metrics?${window}&groupBy=billing_dimension`,
  )
  for (const { billingDimension, summary } of metrics.data)
    say(`     ${billingDimension}: ${summary.usage?.toFixed(3)} GB-seconds, ${summary.cost.toFixed(9)} USD`)
  say(`     total ${metrics.summary.totalCost.toFixed(9)} USD`)
}

/** Tells the story against a host that serves; leaves nothing behind. Throws at the first thing that is not as told. */
export const story = async (deps: StoryDeps): Promise<void> => {
  const { client, clock, say } = deps
  const startedAt = clock.now()
  const begun = clock.elapsed()
  const made = await client.json<Sandbox>('POST', '/v0/sandboxes', {
    metadata: { name },
    spec: { runtime: { image: 'base', memory: 1024 } },
  })
  const { url } = made.metadata
  say(`  1. sandbox "${name}" from image base, 1 GB: ${made.status}`)
  const ran = await client.json<{ logs: string }>('POST', `${url}/process`, {
    command: '. /etc/os-release; echo "$PRETTY_NAME, $(python3 -V), node $(node -v)"',
    waitForCompletion: true,
  })
  say(
    `  2. first command answered ${Math.round(clock.elapsed() - begun)} ms after the create was sent: ${ran.logs.trim()}`,
  )
  await client.json('PUT', `${url}/filesystem//root/app.py`, { content: program })
  const { size } = await client.json<{ size: number }>('GET', `${url}/filesystem//root/app.py`)
  say(`  3. a file written into it: /root/app.py, ${size} bytes`)
  say('  4. it runs, and its output streams back:')
  await stream(deps, url)
  await answerOnPort(deps, url)
  await sleepAndWake(deps, url)
  await client.json('DELETE', `/v0/sandboxes/${name}`)
  await until(clock, 'deleting', async () =>
    (await client.json<Sandbox>('GET', `/v0/sandboxes/${name}`)).status === 'TERMINATED' ? true : undefined,
  )
  say('  8. deleted: nothing of it is left on this machine but its bill:')
  await bill(deps, startedAt)
}

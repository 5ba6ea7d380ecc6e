/**
 * The gateway: what it adds to a request, against nginx and a reverse proxy in Go in front of the same upstream. Latency
 * is what a request takes more than one sent straight to the upstream; throughput is counted by the processor time the
 * proxy used for it, which other work on the box does not change.
 */
import { cpuOf, scratch, startScript } from './child.ts'
import { bodies } from './gateway-bodies.ts'
import { goProxy, noGo } from './go-proxy/build.ts'
import { openLoad, type Load } from './load.ts'
import type { Bench } from './measure.ts'
import { nginx, noNginx } from './nginx.ts'
import { percentile, row, type Row } from './report.ts'
import type { StandInSaid } from './stand-in-host.ts'

const here = (name: string) => new URL(name, import.meta.url)
const image = 'busybox'

/** Rounds of half a second each for each proxy and number of connections. */
const rounds = 6
const roundMs = 500

/** A control plane with one sandbox `a` that is served by `upstream`. */
export const standInHost = async (
  bench: Bench,
  upstream: number,
): Promise<StandInSaid & { pid: number; dataDir: string }> => {
  const dataDir = scratch(bench, 'data')
  const { said, pid } = await startScript<StandInSaid>(bench, here('stand-in-host.ts'), [dataDir, String(upstream)])
  const answer = await fetch(`http://127.0.0.1:${said.port}/v0/sandboxes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${said.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ metadata: { name: 'a' }, spec: { runtime: { image, memory: 256 } } }),
  })
  if (answer.status !== 200) throw new Error(`no sandbox: ${answer.status} ${await answer.text()}`)
  await answer.arrayBuffer()
  return { ...said, pid, dataDir }
}

/** A public preview of a port of `a`, by its path: the address, without what stands before it. */
const previewOf = async ({ port, key }: StandInSaid, appPort: number): Promise<string> => {
  const url = `http://127.0.0.1:${port}`
  const answer = await fetch(`${url}/v0/sandboxes/a/previews`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ metadata: { name: 'app' }, spec: { port: appPort, public: true } }),
  })
  if (answer.status !== 200) throw new Error(`no preview: ${answer.status} ${await answer.text()}`)
  const { spec } = (await answer.json()) as { spec: { url: string } }
  return new URL(spec.url).pathname
}

interface Way {
  readonly load: Load
  /** Who works for it; undefined for the straight way. */
  readonly pid: number | undefined
  readonly samples: number[]
  requests: number
  cpuMs: number
}

const runWay = async (way: Way): Promise<void> => {
  const before = way.pid === undefined ? 0 : cpuOf(way.pid)
  const { samples } = await way.load.run(roundMs)
  way.cpuMs += way.pid === undefined ? 0 : cpuOf(way.pid) - before
  way.requests += samples.length
  for (const sample of samples) way.samples.push(sample)
}

const perCore = ({ requests, cpuMs }: Way): number => requests / (cpuMs / 1000)

/** Somebody in front of the upstream: where, and the path there that leads to it. */
interface Proxy {
  readonly port: number
  readonly path: string
  readonly pid: number
}

interface Proxies {
  readonly ours: Proxy
  /** The same by a preview's address. */
  readonly preview: Proxy
  readonly nginx: Proxy | undefined
  readonly go: Proxy | undefined
}

const rivals = async (bench: Bench, upstream: number): Promise<Pick<Proxies, 'nginx' | 'go'>> => {
  const engine = await nginx(
    bench,
    `upstream up { server 127.0.0.1:${upstream}; keepalive 256; keepalive_requests 100000000; }`,
    'location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header connection ""; }',
  )
  if (!engine) bench.skip('gateway.*: floor and ratio', noNginx)
  bench.say('building the reverse proxy in Go')
  const go = await goProxy(bench, upstream)
  if (!go) bench.skip('gateway.*.against-go', noGo)
  const path = '/health'
  return { nginx: engine && { ...engine, path, pid: engine.worker }, go: go && { ...go, path } }
}

/** The figures of so many connections. */
const requests = async (
  bench: Bench,
  [upstream, { ours, preview, nginx: engine, go }]: readonly [number, Proxies],
  [connections, headers]: readonly [number, Readonly<Record<string, string>>],
): Promise<Row[]> => {
  const way = async ({ port, path, pid }: Omit<Proxy, 'pid'> & { pid?: number }): Promise<Way> => {
    const load = await openLoad({ port, path, headers, connections })
    bench.later('connections', load.close)
    await load.run(roundMs)
    return { load, pid, samples: [], requests: 0, cpuMs: 0 }
  }
  const straight = await way({ port: upstream, path: '/health' })
  const mine = await way(ours)
  const previewed = await way(preview)
  const [theirs, gos] = [engine && (await way(engine)), go && (await way(go))]
  const all = [straight, mine, previewed, theirs, gos].filter(one => one !== undefined)
  for (let round = 0; round < rounds; round++)
    for (let turn = 0; turn < all.length; turn++) await runWay(all[(round + turn) % all.length] as Way)
  const added = (one: Way, part: number) => percentile(one.samples, part) - percentile(straight.samples, part)
  for (const { load } of all) load.close()
  const latencies = [0.5, 0.99].flatMap(part => {
    const name = `gateway.added.${connections}.p${part * 100}`
    const value = added(mine, part)
    const againstGo = gos ? [row(`${name}.against-go`, value, 'ms', added(gos, part))] : []
    return [
      row(name, value, 'ms', theirs ? added(theirs, part) : null),
      ...againstGo,
      row(`preview.added.${connections}.p${part * 100}`, added(previewed, part), 'ms', value),
    ]
  })
  if (connections === 1) return latencies
  const name = 'gateway.requests-per-core'
  const againstGo = gos ? [row(`${name}.against-go`, perCore(mine), 'req/s', perCore(gos))] : []
  return [
    ...latencies,
    row(name, perCore(mine), 'req/s', theirs ? perCore(theirs) : null),
    ...againstGo,
    row('preview.requests-per-core', perCore(previewed), 'req/s', perCore(mine)),
  ]
}

export const gatewayBench = async (bench: Bench): Promise<Row[]> => {
  const { said: upstream } = await startScript<number>(bench, here('upstream.ts'))
  const host = await standInHost(bench, upstream)
  const ours = { port: host.port, path: '/default/sandboxes/a/health', pid: host.pid }
  const { said: app } = await startScript<number>(bench, here('upstream.ts'))
  const preview = { ...ours, path: `${await previewOf(host, app)}/health` }
  const proxies: Proxies = { ours, preview, ...(await rivals(bench, upstream)) }
  const headers = { authorization: `Bearer ${host.key}` }
  const rows: Row[] = []
  for (const connections of [1, 32]) {
    bench.say(`${connections} connection${connections > 1 ? 's' : ''}`)
    rows.push(...(await requests(bench, [upstream, proxies], [connections, headers])))
  }
  return [...rows, ...(await bodies(bench))]
}

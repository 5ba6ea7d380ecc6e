/**
 * The gateway: what it adds to a request, against nginx and a reverse proxy in Go in front of the same upstream. Latency
 * is what a request takes more than one sent straight to the upstream; throughput is counted by the processor time the
 * proxy used for it, which other work on the box does not change.
 */
import { startScript } from './child.ts'
import { bodies } from './gateway-bodies.ts'
import { goProxy, noGo } from './go-proxy/build.ts'
import { tlsRequests } from './gateway-tls.ts'
import { openLoad } from './load.ts'
import type { Bench } from './measure.ts'
import { nginx, noNginx, proxyTo } from './nginx.ts'
import { percentile, row, type Row } from './report.ts'
import { standInHost } from './stand-in.ts'
import type { StandInSaid } from './stand-in-host.ts'
import { askInTurns, newWay, perCore, roundMs, type Way } from './ways.ts'

const here = (name: string) => new URL(name, import.meta.url)
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
  const engine = await nginx(bench, ...proxyTo(upstream))
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
    return newWay(load, pid)
  }
  const straight = await way({ port: upstream, path: '/health' })
  const mine = await way(ours)
  const previewed = await way(preview)
  const [theirs, gos] = [engine && (await way(engine)), go && (await way(go))]
  const all = [straight, mine, previewed, theirs, gos].filter(one => one !== undefined)
  await askInTurns(all)
  const added = (one: Way, part: number) => percentile(one.samples, part) - percentile(straight.samples, part)
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
  return [...rows, ...(await tlsRequests(bench, upstream, { ...ours, key: host.key })), ...(await bodies(bench))]
}

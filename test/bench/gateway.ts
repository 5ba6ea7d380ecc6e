/**
 * The gateway: what it adds to a request, against nginx in front of the same upstream. Latency is what a request takes
 * more than one sent straight to the upstream; throughput is counted by the processor time the proxy used for it, which
 * other work on the box does not change.
 */
import { cpuOf, scratch, startScript } from './child.ts'
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

export const gatewayBench = async (bench: Bench): Promise<Row[]> => {
  const { said: upstream } = await startScript<number>(bench, here('upstream.ts'))
  const rival = await nginx(
    bench,
    `upstream up { server 127.0.0.1:${upstream}; keepalive 256; keepalive_requests 100000000; }`,
    'location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header connection ""; }',
  )
  if (!rival) bench.skip('gateway.*: floor and ratio', noNginx)
  const host = await standInHost(bench, upstream)
  const headers = { authorization: `Bearer ${host.key}` }
  const rows: Row[] = []
  for (const connections of [1, 32]) {
    bench.say(`${connections} connection${connections > 1 ? 's' : ''}`)
    const way = async (port: number, path: string, pid?: number): Promise<Way> => {
      const load = await openLoad({ port, path, headers, connections })
      bench.later('connections', load.close)
      await load.run(roundMs)
      return { load, pid, samples: [], requests: 0, cpuMs: 0 }
    }
    const straight = await way(upstream, '/health')
    const ours = await way(host.port, '/default/sandboxes/a/health', host.pid)
    const theirs = rival && (await way(rival.port, '/health', rival.worker))
    const all = [straight, ours, ...(theirs ? [theirs] : [])]
    for (let round = 0; round < rounds; round++)
      for (let turn = 0; turn < all.length; turn++) await runWay(all[(round + turn) % all.length] as Way)
    const added = (one: Way, part: number) => percentile(one.samples, part) - percentile(straight.samples, part)
    for (const part of [0.5, 0.99])
      rows.push(
        row(
          `gateway.added.${connections}.p${part * 100}`,
          added(ours, part),
          'ms',
          theirs ? added(theirs, part) : null,
        ),
      )
    if (connections > 1)
      rows.push(row('gateway.requests-per-core', perCore(ours), 'req/s', theirs ? perCore(theirs) : null))
    for (const { load } of all) load.close()
  }
  return rows
}

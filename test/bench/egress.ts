/**
 * The egress engine beside Squid and mitmproxy, in front of the same server: plain HTTP, TLS passed on after a look at its hello, and
 * TLS that is opened. Latency is what a request takes more than a straight one; throughput counts processor time.
 */
import { once } from 'node:events'
import { cpuOf, memoryOf, startScript } from './child.ts'
import { download, plainDialler, tlsDialler } from './egress/clients.ts'
import type { EngineSaid } from './egress/engine.ts'
import { mitmproxy, squid, type Proxy } from './egress/rivals.ts'
import { serverName, startInternet, type Internet } from './egress/server.ts'
import { openLoad, type Load } from './load.ts'
import { inTurns, type Bench } from './measure.ts'
import { percentile, row, type Row } from './report.ts'
import { slotsBench } from './slots.ts'

type Kind = 'plain' | 'sni' | 'opened'
const kinds: readonly Kind[] = ['plain', 'sni', 'opened']
const rounds = 6
const roundMs = 500
const downloads = 5

interface Ours extends Proxy {
  setPolicy(policy: object): Promise<void>
}

interface Way {
  readonly load: Load
  readonly pid: number | undefined
  readonly samples: number[]
  requests: number
  cpuMs: number
  wallMs: number
}

const policies: Readonly<Record<Kind, object>> = {
  plain: { allowedDomains: [serverName, '127.0.0.1'] },
  sni: { allowedDomains: [serverName] },
  opened: { allowedDomains: [`${serverName}/`] },
}

const manyRules = (count: number): object => ({
  allowedDomains: [...Array.from({ length: count }, (_, at) => `*.a${at}.example`), serverName, '127.0.0.1'],
  forbiddenDomains: Array.from({ length: count }, (_, at) => `POST:f${at}.example/x/*/y`),
})

const startOurs = async (bench: Bench, internet: Internet): Promise<Ours> => {
  const { child, pid, said } = await startScript<EngineSaid>(bench, new URL('egress/engine.ts', import.meta.url), [
    internet.ca,
  ])
  return {
    name: 'hutch',
    port: said.port,
    pid,
    async setPolicy(policy) {
      child.send(policy)
      await once(child, 'message')
    },
  }
}

const openWay = async (
  bench: Bench,
  internet: Internet,
  kind: Kind,
  proxy: Proxy | undefined,
  connections: number,
): Promise<Way> => {
  // Squid and mitmproxy would look the name up in this machine's DNS.
  const host = proxy?.name === 'hutch' ? serverName : '127.0.0.1'
  const plain = kind === 'plain'
  const load = await openLoad({
    port: proxy?.port ?? internet.http,
    path: plain && proxy ? `http://127.0.0.1:${internet.http}/` : '/',
    host: plain ? `127.0.0.1:${internet.http}` : `${serverName}:${internet.https}`,
    dial: plain ? plainDialler(proxy?.port ?? internet.http) : tlsDialler(internet, proxy?.port, host),
    connections,
  })
  bench.later('connections', load.close)
  await load.run(roundMs)
  return { load, pid: proxy?.pid, samples: [], requests: 0, cpuMs: 0, wallMs: 0 }
}

const runWay = async (way: Way): Promise<void> => {
  const before = way.pid === undefined ? 0 : cpuOf(way.pid)
  const from = performance.now()
  const { samples } = await way.load.run(roundMs)
  way.wallMs += performance.now() - from
  way.cpuMs += way.pid === undefined ? 0 : cpuOf(way.pid) - before
  way.requests += samples.length
  for (const sample of samples) way.samples.push(sample)
}

const inRounds = async (ways: readonly Way[]): Promise<void> => {
  for (let round = 0; round < rounds; round++)
    for (let turn = 0; turn < ways.length; turn++) await runWay(ways[(round + turn) % ways.length] as Way)
  for (const { load } of ways) load.close()
}

const perSecond = (way: Way): number => (way.requests * 1000) / way.wallMs
const cpuUs = (way: Way): number => (way.cpuMs * 1000) / way.requests

const latency = async (bench: Bench, internet: Internet, kind: Kind, proxies: readonly Proxy[]): Promise<Row[]> => {
  bench.say(`${kind}: one connection`)
  const straight = await openWay(bench, internet, kind, undefined, 1)
  const ways = await Promise.all(proxies.map(proxy => openWay(bench, internet, kind, proxy, 1)))
  await inRounds([straight, ...ways])
  const [ours, theirs] = ways as [Way, Way | undefined]
  const added = (way: Way, part: number) => percentile(way.samples, part) - percentile(straight.samples, part)
  return [0.5, 0.99].map(part =>
    row(`egress.${kind}.added.p${part * 100}`, added(ours, part), 'ms', theirs ? added(theirs, part) : null),
  )
}

const throughput = async (bench: Bench, internet: Internet, kind: Kind, proxies: readonly Proxy[]): Promise<Row[]> => {
  bench.say(`${kind}: 32 connections`)
  const ways = await Promise.all(proxies.map(proxy => openWay(bench, internet, kind, proxy, 32)))
  await inRounds(ways)
  const [ours, ...theirs] = ways as [Way, ...Way[]]
  const rows = [row(`egress.${kind}.processor`, cpuUs(ours), 'µs', theirs[0] ? cpuUs(theirs[0]) : null)]
  for (const [at, way] of theirs.entries())
    rows.push(row(`egress.${kind}.requests.against-${proxies[at + 1]?.name}`, perSecond(ours), 'req/s', perSecond(way)))
  return rows
}

const bodies = async (
  bench: Bench,
  internet: Internet,
  kind: Kind,
  ours: Proxy,
  theirs: Proxy | undefined,
): Promise<Row[]> => {
  bench.say(`${kind}: 100 MB`)
  const tls = kind !== 'plain'
  const speeds = await inTurns(downloads, {
    straight: () => download(internet, undefined, tls),
    ours: () => download(internet, ours.port, tls),
    theirs: async () => (theirs ? download(internet, theirs.port, tls) : 0),
  })
  const middle = (samples: readonly number[]) => percentile(samples, 0.5)
  const mine = middle(speeds.ours)
  return [
    row(`egress.${kind}.body`, mine, 'MB/s', middle(speeds.straight)),
    ...(theirs ? [row(`egress.${kind}.body.against-squid`, mine, 'MB/s', middle(speeds.theirs))] : []),
  ]
}

/** The same requests with one rule and with a thousand of each kind. */
const rules = async (bench: Bench, internet: Internet, ours: Ours): Promise<Row> => {
  bench.say('a thousand rules')
  const cost = { few: { cpuMs: 0, requests: 0 }, many: { cpuMs: 0, requests: 0 } }
  await ours.setPolicy(policies.plain)
  const way = await openWay(bench, internet, 'plain', ours, 32)
  for (let round = 0; round < rounds * 2; round++)
    for (const which of round % 2 ? (['few', 'many'] as const) : (['many', 'few'] as const)) {
      await ours.setPolicy(which === 'few' ? policies.plain : manyRules(1000))
      const before = { cpuMs: way.cpuMs, requests: way.requests }
      await runWay(way)
      cost[which].cpuMs += way.cpuMs - before.cpuMs
      cost[which].requests += way.requests - before.requests
    }
  way.load.close()
  const each = ({ cpuMs, requests }: { cpuMs: number; requests: number }) => (cpuMs * 1000) / requests
  return row('egress.rules-1000.processor', each(cost.many), 'µs', each(cost.few))
}

/** Growth of the engine's memory over twenty thousand requests and two hundred connections of each kind, in MB. */
const memory = async (bench: Bench, internet: Internet, ours: Ours): Promise<Row> => {
  bench.say('memory')
  const work = async () => {
    for (const kind of kinds) {
      await ours.setPolicy(policies[kind])
      for (let time = 0; time < 6; time++) {
        const way = await openWay(bench, internet, kind, ours, 32)
        await runWay(way)
        way.load.close()
      }
    }
  }
  await work()
  await work()
  const before = memoryOf(ours.pid)
  for (let time = 0; time < 3; time++) await work()
  return row('egress.memory-growth', (memoryOf(ours.pid) - before) / 1e6, 'MB')
}

export const egressBench = async (bench: Bench): Promise<Row[]> => {
  const internet = await startInternet(bench)
  if (!internet) {
    bench.skip('egress.*', 'needs nginx: apt-get install nginx-light')
    return []
  }
  const ours = await startOurs(bench, internet)
  const rows: Row[] = []
  for (const kind of kinds) {
    await ours.setPolicy(policies[kind])
    const rivals = await Promise.all([
      squid(bench, internet, kind === 'opened'),
      mitmproxy(bench, internet, kind === 'opened'),
    ])
    for (const [at, name] of ['squid-openssl', 'mitmproxy'].entries())
      if (!rivals[at]) bench.skip(`egress.${kind}: against ${name}`, `needs ${name}: apt-get install ${name}`)
    const proxies = [ours, ...rivals.filter(rival => rival !== undefined)]
    rows.push(...(await latency(bench, internet, kind, proxies)))
    rows.push(...(await throughput(bench, internet, kind, proxies)))
    rows.push(...(await bodies(bench, internet, kind, ours, rivals[0])))
  }
  rows.push(await rules(bench, internet, ours))
  rows.push(await memory(bench, internet, ours))
  rows.push(...(await slotsBench(bench)))
  return rows
}

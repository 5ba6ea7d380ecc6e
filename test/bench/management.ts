/** The management API over HTTP: reads against a bare node:http server that answers the same bytes; reads and lists among 100 000 and 1 000 workspaces. */
import { writeFileSync } from 'node:fs'
import { Agent, get, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import BetterSqlite from 'better-sqlite3'
import { cpuOf, scratch, startScript } from './child.ts'
import { standInHost } from './stand-in.ts'
import { http2Reads } from './http2.ts'
import { openLoad } from './load.ts'
import { times, type Bench } from './measure.ts'
import { percentile, row, type Row } from './report.ts'

const resources = 100_000
const workspaces = 1_000

/** Copies the one sandbox there is; copies that failed are listed, and nobody looks after them. */
const fill = (dataDir: string): void => {
  const db = new BetterSqlite(join(dataDir, 'hutch.db'))
  const columnsOf = (table: string) => (db.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name)
  const columns = columnsOf('resources')
  const spaces = columnsOf('workspaces')
  const ofWorkspace = (name: string): string => (name === 'id' || name === 'name' ? `'space-' || i` : name)
  const value = (name: string): string => {
    if (name === 'uid') return `printf('copy-%06d', (i * 7919) % ${resources})`
    if (name === 'name') return `'box-' || i`
    if (name === 'search') return `'box-' || i || char(10) || 'blue-' || (i % 97)`
    if (name === 'status') return `'FAILED'`
    if (name === 'external_id') return 'NULL'
    return name === 'created_at' || name === 'updated_at' ? `${name} - i * 1000` : name
  }
  db.exec(`
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${resources - 1})
    INSERT INTO resources (${columns.join(', ')})
    SELECT ${columns.map(value).join(', ')} FROM resources, n WHERE name = 'a';
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${workspaces - 1})
    INSERT INTO workspaces (${spaces.join(', ')})
    SELECT ${spaces.map(ofWorkspace).join(', ')} FROM workspaces, n WHERE name = 'default'`)
  db.close()
}

interface Reader {
  readonly pid: number
  readonly run: (ms: number) => Promise<{ samples: number[] }>
  requests: number
  cpuMs: number
}

const reader = async (
  bench: Bench,
  options: { port: number; pid: number; path: string; headers: Record<string, string> },
): Promise<Reader> => {
  const load = await openLoad({ ...options, connections: 16 })
  bench.later('connections', load.close)
  await load.run(1_000)
  return { pid: options.pid, run: load.run, requests: 0, cpuMs: 0 }
}

/** One question at a time, by a client that costs as little as Node allows: what the server takes, against the floor. */
const alone = async (bench: Bench, ports: readonly number[], path: string, headers: Record<string, string>) => {
  const loads = await Promise.all(ports.map(port => openLoad({ port, path, headers, connections: 1 })))
  for (const load of loads) bench.later('connections', load.close)
  const samples = ports.map((): number[] => [])
  for (let round = 0; round < 8; round++)
    for (const [index, load] of loads.entries()) samples[index]?.push(...(await load.run(250)).samples)
  const [ours = 0, bare = 0] = samples.map(of => percentile(of, 0.5))
  return row('management.get.p50', ours, 'ms', bare)
}

const reads = async (name: string, ours: Reader, bare: Reader): Promise<Row> => {
  for (let round = 0; round < 8; round++)
    for (const one of round % 2 ? [ours, bare] : [bare, ours]) {
      const before = cpuOf(one.pid)
      const { samples } = await one.run(500)
      one.requests += samples.length
      one.cpuMs += cpuOf(one.pid) - before
    }
  const rate = ({ requests, cpuMs }: Reader) => requests / (cpuMs / 1000)
  return row(name, rate(ours), 'req/s', rate(bare))
}

/** An access token of a service account, as clients get one. */
const tokenOf = async (port: number, headers: Record<string, string>): Promise<string> => {
  const post = async (path: string, more: Record<string, string>, body: object) => {
    const answer = await fetch(`http://127.0.0.1:${port}/v0${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', ...more },
      body: JSON.stringify(body),
    })
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as Record<string, string>
  }
  const made = await post('/service_accounts?workspace=default', {}, { name: 'bench' })
  const basic = Buffer.from(`${made['client_id']}:${made['client_secret']}`).toString('base64')
  const grant = { grant_type: 'client_credentials' }
  return (await post('/oauth/token', { authorization: `Basic ${basic}` }, grant))['access_token'] as string
}

export const managementBench = async (bench: Bench): Promise<Row[]> => {
  const { said: upstream } = await startScript<number>(bench, new URL('upstream.ts', import.meta.url))
  const host = await standInHost(bench, upstream)
  const headers = { authorization: `Bearer ${host.key}`, 'svc-version': '2026-04-28' }
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  bench.later('agent', () => agent.destroy())
  const ask = async (path: string): Promise<Buffer> => {
    const [answer] = (await once(get(`http://127.0.0.1:${host.port}${path}`, { agent, headers }), 'response')) as [
      IncomingMessage,
    ]
    const bytes = await buffer(answer)
    if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${bytes}`)
    return bytes
  }
  const path = '/v0/sandboxes/a'
  const file = join(scratch(bench, 'bytes'), 'answer')
  writeFileSync(file, await ask(path))
  const bare = await startScript<number>(bench, new URL('upstream.ts', import.meta.url), [file])
  bench.say('reads')
  fill(host.dataDir)
  await times(50, () => ask(path))
  const withToken = { ...headers, authorization: `Bearer ${await tokenOf(host.port, headers)}` }
  const readsAs = async (name: string, given: typeof headers): Promise<Row> =>
    reads(
      name,
      await reader(bench, { port: host.port, pid: host.pid, path, headers: given }),
      await reader(bench, { port: bare.said, pid: bare.pid, path, headers }),
    )
  const rows = [
    await alone(bench, [host.port, bare.said], path, headers),
    // As programs do that use Node's client, which takes most of it.
    row('management.get.node-client.p50', percentile(await times(500, () => ask(path)), 0.5), 'ms'),
    await readsAs('management.reads-per-core', headers),
    await readsAs('management.reads-per-core.token', withToken),
    await http2Reads(bench, upstream),
  ]
  bench.say('lists')
  const first = JSON.parse(String(await ask('/v0/sandboxes?limit=50')))
  const cursor = first.meta.nextCursor
  const lists = {
    'first-page': '/v0/sandboxes?limit=50',
    'next-page': `/v0/sandboxes?limit=50&cursor=${encodeURIComponent(cursor)}`,
    search: '/v0/sandboxes?limit=50&q=blue-1',
  }
  for (const [name, list] of Object.entries(lists)) {
    await times(20, () => ask(list))
    const samples = await times(200, () => ask(list))
    rows.push(row(`management.list-100k.${name}.p99`, percentile(samples, 0.99), 'ms'))
  }
  return rows
}

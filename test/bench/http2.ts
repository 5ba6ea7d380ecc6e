/** Reads of one record over HTTP/2 and TLS, sixteen at a time on one connection, against `node:http2` that answers the same bytes. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, type ClientHttp2Session } from 'node:http2'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { testAuthority } from '../support/certificates.ts'
import { cpuOf, scratch, startScript } from './child.ts'
import type { Bench } from './measure.ts'
import { row, type Row } from './report.ts'
import type { StandInSaid } from './stand-in-host.ts'

const path = '/v0/sandboxes/a'
const atOnce = 16
const rounds = 8
const roundMs = 500

type Headers = Readonly<Record<string, string>>

const ask = async (session: ClientHttp2Session, headers: Headers, body?: object): Promise<Buffer> => {
  const stream = session.request({ ':path': path, ...headers }, { endStream: body === undefined })
  if (body) stream.end(JSON.stringify(body))
  const [head] = (await once(stream, 'response')) as [{ ':status'?: number }]
  const bytes = await buffer(stream)
  if (head[':status'] !== 200) throw new Error(`${head[':status']} ${String(bytes)}`)
  return bytes
}

interface Reader {
  readonly pid: number
  readonly session: ClientHttp2Session
  requests: number
  cpuMs: number
}

const reading = async (reader: Reader, headers: Headers, ms: number): Promise<void> => {
  const before = cpuOf(reader.pid)
  const end = performance.now() + ms
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (; performance.now() < end; reader.requests++) await ask(reader.session, headers)
    }),
  )
  reader.cpuMs += cpuOf(reader.pid) - before
}

/** `upstream` answers for the machines. */
export const http2Reads = async (bench: Bench, upstream: number): Promise<Row> => {
  const dir = scratch(bench, 'http2')
  const authority = testAuthority(dir)
  const stem = join(dir, 'localhost')
  authority.sign(stem, ['localhost'])
  const dial = async (port: number): Promise<ClientHttp2Session> => {
    const session = connect(`https://localhost:${port}`, { ca: authority.ca })
    bench.later('a connection', () => session.destroy())
    await once(session, 'connect')
    return session
  }
  const host = await startScript<StandInSaid>(bench, new URL('stand-in-host.ts', import.meta.url), [
    scratch(bench, 'data'),
    String(upstream),
    stem,
  ])
  const { said } = host
  const headers = { authorization: `Bearer ${said.key}`, 'svc-version': '2026-04-28' }
  const session = await dial(said.port)
  const sandbox = { metadata: { name: 'a' }, spec: { runtime: { image: 'busybox', memory: 256 } } }
  const made = { ...headers, ':method': 'POST', ':path': '/v0/sandboxes', 'content-type': 'application/json' }
  await ask(session, made, sandbox)
  const file = join(dir, 'answer')
  writeFileSync(file, await ask(session, headers))
  const bare = await startScript<number>(bench, new URL('upstream.ts', import.meta.url), [file, stem])
  const ours: Reader = { pid: host.pid, session, requests: 0, cpuMs: 0 }
  const floor: Reader = { pid: bare.pid, session: await dial(bare.said), requests: 0, cpuMs: 0 }
  for (const one of [ours, floor]) {
    await reading(one, headers, 1_000)
    Object.assign(one, { requests: 0, cpuMs: 0 })
  }
  for (let round = 0; round < rounds; round++)
    for (const one of round % 2 ? [ours, floor] : [floor, ours]) await reading(one, headers, roundMs)
  const rate = ({ requests, cpuMs }: Reader): number => requests / (cpuMs / 1000)
  return row('management.reads-per-core.http2', rate(ours), 'req/s', rate(floor))
}

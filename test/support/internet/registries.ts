/** Registries of the small internet: npm, Python, Debian and Go, with one small package each, over TLS and without. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  createServer as createPlain,
  type IncomingMessage,
  type Server as PlainServer,
  type ServerResponse,
} from 'node:http'
import { createServer } from 'node:https'
import type { Server } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Authority } from '../../../control/network/egress/ca/authority.ts'
import { shell } from '../tunnel-net.ts'

export interface File {
  readonly body: Buffer
  readonly type?: string
  /** Seconds that it is fresh; must be asked for again when left out. */
  readonly maxAge?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly status?: number
}

export interface Registries {
  /** By host and path, `npm.example/left`. */
  readonly files: Map<string, File>
  /** Every request: `200 https://npm.example/left`, with what it said. */
  readonly asked: { readonly line: string; readonly headers: IncomingMessage['headers'] }[]
  /** Nobody is there any more. */
  stop(): void
  /** And again. */
  start(): Promise<void>
}

/** Of all of them; on the loopback device of the test's own network. */
export const registryAddress = '203.0.113.30'

const hash = (algorithm: string, body: Buffer, form: 'hex' | 'base64' = 'hex'): string =>
  createHash(algorithm).update(body).digest(form)

const answer =
  (files: Registries['files'], asked: Registries['asked'], scheme: string) =>
  (req: IncomingMessage, res: ServerResponse) => {
    const place = `${req.headers.host}${req.url}`
    const file = files.get(place)
    const etag = file ? `"${hash('md5', file.body)}"` : ''
    const same = file !== undefined && req.headers['if-none-match'] === etag
    const status = file ? (same ? 304 : (file.status ?? 200)) : 404
    asked.push({ line: `${status} ${scheme}://${place}`, headers: req.headers })
    if (!file) return void res.writeHead(404).end('none')
    const { maxAge, type = 'application/octet-stream', headers = {} } = file
    res.writeHead(status, {
      etag,
      'content-type': type,
      'cache-control': maxAge === undefined ? 'max-age=0' : `public, max-age=${maxAge}`,
      ...headers,
    })
    res.end(same ? undefined : file.body)
  }

const listen = async (server: Server, port: number): Promise<void> => {
  server.listen(port, registryAddress)
  await once(server, 'listening')
}

/** To be called where the small internet is. `names` gets their hosts. */
export const startRegistries = async (
  world: Authority,
  names: Map<string, unknown>,
  hosts: readonly string[],
): Promise<Registries> => {
  shell(`ip addr add ${registryAddress}/32 dev lo`)
  for (const host of hosts) names.set(host, [registryAddress])
  const files = new Map<string, File>()
  const asked: Registries['asked'] = []
  const servers: Server[] = []
  const start = async (): Promise<void> => {
    const secure = createServer(
      { SNICallback: (name, done) => done(null, world.contextFor(name)), ALPNProtocols: ['http/1.1'] },
      answer(files, asked, 'https'),
    )
    servers.push(secure, createPlain(answer(files, asked, 'http')))
    for (const [at, port] of [443, 80].entries()) await listen(servers[at] as Server, port)
  }
  const stop = (): void => {
    for (const server of servers.splice(0)) {
      server.close()
      ;(server as PlainServer).closeAllConnections()
    }
  }
  await start()
  return { files, asked, start, stop }
}

/** What `npm install` of the package asks for. */
export const npmPackage = (host: string, tarball: Buffer, name = 'left'): [string, File][] => {
  const dist = {
    tarball: `https://${host}/${name}/-/${name}-1.0.0.tgz`,
    integrity: `sha512-${hash('sha512', tarball, 'base64')}`,
    shasum: hash('sha1', tarball),
  }
  const versions = { '1.0.0': { name, version: '1.0.0', dist } }
  const document = { name, 'dist-tags': { latest: '1.0.0' }, versions }
  const body = Buffer.from(JSON.stringify(document))
  return [
    [`${host}/${name}`, { body, type: 'application/json', maxAge: 300, headers: { vary: 'accept-encoding, accept' } }],
    [`${host}/${name}/-/${name}-1.0.0.tgz`, { body: tarball, maxAge: 300 }],
  ]
}

/** What `pip install left` asks for: an index at one host, files at another. */
export const pythonPackage = (index: string, host: string, wheel: Buffer): [string, File][] => {
  const file = 'left-1.0-py3-none-any.whl'
  const page = `<!DOCTYPE html><a href="https://${host}/aa/${file}#sha256=${hash('sha256', wheel)}">${file}</a>`
  return [
    [
      `${index}/simple/left/`,
      { body: gzipSync(page), type: 'text/html', maxAge: 600, headers: { 'content-encoding': 'gzip' } },
    ],
    [`${host}/aa/${file}`, { body: wheel, maxAge: 600 }],
  ]
}

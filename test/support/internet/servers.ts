/** Servers of the small internet. Each writes down what reached it, under the name it was asked by. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  createSecureServer,
  createServer as createH2c,
  type Http2SecureServer,
  type ServerHttp2Stream,
} from 'node:http2'
import { createServer as createTcp, type Server, type Socket } from 'node:net'
import { createHash } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import { makeAuthorityKeys, type Authority } from '../../../control/network/egress/ca/authority.ts'
import { addresses } from './network.ts'

export interface Reached {
  readonly server: string
  /** Host header, :authority, SNI or DNS name it was asked by. */
  readonly host: string
  /** All else that was said. */
  readonly text: string
}

export interface Log {
  readonly entries: Reached[]
  add(server: string, host: string, text: string): void
}

export const createLog = (): Log => {
  const entries: Reached[] = []
  return { entries, add: (server, host, text) => void entries.push({ server, host, text }) }
}

const bodyOf = async (req: IncomingMessage | ServerHttp2Stream): Promise<Buffer> => {
  const pieces: Buffer[] = []
  try {
    for await (const piece of req) pieces.push(piece as Buffer)
  } catch {
    // Cut short: what came, came.
  }
  return Buffer.concat(pieces)
}

const withoutPort = (host: string | undefined): string => (host ?? '').replace(/:\d+$/, '')

/** Says back what it was asked; some paths do something else. */
const echo = (log: Log, server: string) => async (req: IncomingMessage, res: ServerResponse) => {
  const host = withoutPort(req.headers.host ?? (req.headers as Record<string, string>)[':authority'])
  const path = (req.url ?? '').split('?')[0]
  if (path === '/stream') {
    log.add(server, host, req.url as string)
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let at = 0; at < 3; at++) {
      res.write(`data: ${at}\n\n`)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    return void res.end()
  }
  if (path === '/early') {
    log.add(server, host, req.url as string)
    res.writeHead(413, { 'content-length': '5' })
    return void res.end('early')
  }
  const body = await bodyOf(req)
  log.add(server, host, `${req.method} ${req.url} ${JSON.stringify(req.headers)} ${body.toString('latin1')}`)
  if (path === '/bytes')
    return void res.end(Buffer.alloc(Number(new URL(req.url as string, 'http://x').searchParams.get('n')), 'x'))
  if (path === '/trailers') {
    res.writeHead(200, { trailer: 'x-sum' })
    res.write('with trailers')
    res.addTrailers({ 'x-sum': '7' })
    return void res.end()
  }
  const said = {
    server,
    host,
    method: req.method,
    url: req.url,
    headers: req.headers,
    body: body.toString('utf8'),
    trailers: req.trailers,
    version: req.httpVersion,
  }
  res.writeHead(200, { 'content-type': 'application/json' })
  res.end(JSON.stringify(said))
}

/** A WebSocket server that says everything twice, without frames of its own: what comes goes back. */
const upgrade = (log: Log, server: string) => (req: IncomingMessage, socket: Socket, head: Buffer) => {
  log.add(
    server,
    withoutPort(req.headers.host),
    `UPGRADE ${req.headers.upgrade} ${req.url} ${JSON.stringify(req.headers)}`,
  )
  const accept = createHash('sha1')
    .update(`${req.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64')
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${req.headers.upgrade}\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
  )
  socket.on('error', () => socket.destroy())
  socket.on('data', piece => {
    log.add(server, withoutPort(req.headers.host), piece.toString('latin1'))
    socket.write(piece)
  })
  if (head.length > 0) socket.write(head)
}

/** gRPC by its frames: messages come back one by one, the status is a trailer. */
const grpc = (log: Log, server: string) => (stream: ServerHttp2Stream, headers: Record<string, unknown>) => {
  if (headers['content-type'] !== 'application/grpc') return
  log.add(server, withoutPort(String(headers[':authority'])), `gRPC ${headers[':path']} ${JSON.stringify(headers)}`)
  stream.on('error', () => {})
  if (headers[':path'] === '/t.T/Denied')
    return stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '7' },
      { endStream: true },
    )
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0', 'grpc-message': 'fine' }))
  stream.on('data', (piece: Buffer) => stream.write(piece))
  stream.on('end', () => stream.end())
}

/** Shown to who sends no name. */
const { certificate: cert, privateKey: key } = makeAuthorityKeys('unnamed.example', Date.now())
const unnamed = { cert, key }

const secure = (log: Log, server: string, world: Authority, wrongName: boolean): Http2SecureServer => {
  const http = createSecureServer({
    allowHTTP1: true,
    SNICallback: (name, done) => done(null, world.contextFor(wrongName ? 'other.example' : name)),
    ...unnamed,
  })
  const answer = echo(log, server)
  http.on('request', (req, res) => {
    if (req.headers['content-type'] === 'application/grpc') return
    void answer(req as unknown as IncomingMessage, res as unknown as ServerResponse)
  })
  http.on('stream', grpc(log, server) as never)
  http.on('upgrade', upgrade(log, server) as never)
  http.on('secureConnection', (socket: TLSSocket) => log.add(`${server} tls`, String(socket.servername || ''), ''))
  http.on('sessionError', () => {})
  http.on('tlsClientError', () => {})
  return http
}

const listen = async (
  server: { listen(port: number, host: string): unknown; once(event: string, run: () => void): unknown },
  host: string,
  port: number,
) => {
  server.listen(port, host)
  await once(server as never, 'listening')
}

export interface Servers {
  close(): void
}

const plain = (log: Log, name: string): Server => {
  const server = createHttp({ requestTimeout: 0 }, echo(log, name))
  server.on('upgrade', upgrade(log, name) as never)
  return server
}

/** Writes down all that comes, says a banner if it has one. */
const rawTcp = (log: Log, name: string, banner: string): Server =>
  createTcp(socket => {
    socket.on('error', () => {})
    if (banner) socket.write(banner)
    socket.on('data', piece => {
      log.add(name, '', piece.toString('latin1'))
      socket.write(piece)
    })
  })

export const startServers = async (log: Log, world: Authority): Promise<Servers> => {
  const { cdn, single, attacker, host, metadata, private: inner, shared } = addresses
  const closers: (() => void)[] = []
  const start = async (server: Server | Http2SecureServer, address: string, port: number) => {
    await listen(server as never, address, port)
    closers.push(() => server.close())
  }
  for (const [name, address] of Object.entries({ cdn, single, attacker })) {
    await start(plain(log, name), address, 80)
    await start(plain(log, name), address, 8080)
    await start(secure(log, name, world, false), address, 443)
  }
  await start(secure(log, 'wrong certificate', world, true), single, 8443)
  const h2c = createH2c()
  h2c.on('stream', grpc(log, 'h2c') as never)
  await start(h2c as never, single, 50_051)
  for (const [name, address] of Object.entries({ host, loopback: '127.0.0.1', metadata, inner, shared })) {
    await start(plain(log, `closed ${name}`), address, 80)
    await start(plain(log, `closed ${name}`), address, 8080)
  }
  await start(rawTcp(log, 'smtp', '220 mail\r\n'), single, 25)
  await start(rawTcp(log, 'raw', ''), single, 7000)
  await start(rawTcp(log, 'attacker raw', ''), attacker, 7000)
  for (const address of [single, attacker])
    for (const port of [443, 9000, 9100]) {
      const udp = createSocket('udp4')
      udp.on('message', (piece, from) => {
        log.add('udp', address, piece.toString('latin1'))
        udp.send(piece, from.port, from.address)
      })
      udp.bind(port, address)
      await once(udp, 'listening')
      closers.push(() => udp.close())
    }
  return {
    close() {
      for (const close of closers) close()
    },
  }
}

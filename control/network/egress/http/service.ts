/** The HTTP servers of the engine: one for HTTP/1.1, whoever connected, and one for HTTP/2 in tunnels. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import { createTurns } from '../../../../shared/http/turns.ts'
import { sizeOfLines } from './fields.ts'
import type { Engine } from '../engine.ts'
import type { Reason } from './answers.ts'
import { serveConnect, serveProxied } from './explicit.ts'
import { answer, forward } from './forward.ts'
import { serveSession } from './http2.ts'
import type { Origin } from './origin.ts'
import { forwardUpgrade } from './upgrade.ts'
import { targetIn } from './target.ts'

export interface HttpService {
  /** Requests on the connection are those to a proxy. */
  accept(socket: Socket): void
  /** Requests on the connection go to the origin. */
  serve(socket: Socket, origin: Origin): void
  serveHttp2(socket: Socket, origin: Origin): void
  /** Whatever is asked on the connection gets this answer. */
  refuse(socket: Socket, refusal: Refusal): void
}

export interface Refusal {
  readonly reason: Reason
  readonly requestId: string
  readonly detail?: string | undefined
}

/** A head that drips in has this long; a body may take any time. */
const headersMs = 15_000
const keepAliveMs = 65_000
/** apt, which asks for most in advance, stops at ten. */
const mostWaiting = 64
/** Of the heads of those that wait. */
const mostWaitingBytes = 256 * 1024

interface Context {
  readonly engine: Engine
  readonly origins: WeakMap<Duplex, Origin>
  readonly refusals: WeakMap<Duplex, Refusal>
}

const onRequest = (context: Context, req: IncomingMessage, res: ServerResponse): Promise<void> | void => {
  const { engine, origins, refusals } = context
  const refusal = refusals.get(req.socket)
  if (refusal) return answer(engine, res, refusal.reason, refusal.requestId, refusal.detail)
  const origin = origins.get(req.socket)
  if (!origin) return serveProxied(engine, req, res)
  const target = targetIn(origin, req.url as string)
  if (target === undefined) return answer(engine, res, 'host_mismatch', engine.requestId())
  return forward(engine, origin, target, req, res)
}

const onUpgrade = (context: Context, req: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> | void => {
  const { engine, origins, refusals } = context
  const origin = origins.get(socket)
  const target = origin && targetIn(origin, req.url as string)
  if (refusals.has(socket)) return void socket.destroy()
  return forwardUpgrade({ engine, origin, target, req, socket: socket as Socket, head })
}

/** A request that Node's parser refuses: said in its own words, without what was in it. */
const onClientError = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request'
  socket.end(`HTTP/1.1 ${status}\r\nProxy-Error: bad_request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}

export const createHttpService = (engine: Engine): HttpService => {
  const context: Context = { engine, origins: new WeakMap(), refusals: new WeakMap() }
  const failed = (error: unknown, socket: Duplex) => {
    engine.log.error('egress.request.failed', { error })
    socket.destroy()
  }
  const server = createServer({
    headersTimeout: headersMs,
    // A streaming upload has no end in sight.
    requestTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: 5_000,
    requireHostHeader: false,
    noDelay: true,
    maxHeaderSize: 64 * 1024,
    // Anything else that a request offers to change to is not offered to the server.
    shouldUpgradeCallback: req => req.headers.upgrade?.toLowerCase() === 'websocket',
  })
  const turns = createTurns(mostWaiting, mostWaitingBytes)
  const run = (req: IncomingMessage, res: ServerResponse) => {
    res.sendDate = false
    const start = () => void Promise.resolve(onRequest(context, req, res)).catch(error => failed(error, req.socket))
    turns.take(req.socket, res, start, sizeOfLines(req.rawHeaders) + (req.url as string).length)
  }
  server.on('request', run)
  server.on('checkContinue', run)
  server.on('checkExpectation', run)
  server.on('connect', (req, socket: Duplex, head) => {
    if (turns.isBusy(socket)) return void socket.destroy()
    // Inside a tunnel there is no further proxy.
    if (context.origins.has(socket) || context.refusals.has(socket)) return void socket.destroy()
    void serveConnect(engine, req, socket as Socket, head).catch(error => failed(error, socket))
  })
  server.on('upgrade', (req, socket: Duplex, head) => {
    if (turns.isBusy(socket)) return void socket.destroy()
    void Promise.resolve(onUpgrade(context, req, socket, head)).catch(error => failed(error, socket))
  })
  server.on('clientError', onClientError)
  return {
    accept: socket => void server.emit('connection', socket),
    serve(socket, origin) {
      context.origins.set(socket, origin)
      server.emit('connection', socket)
    },
    serveHttp2: (socket, origin) => serveSession(engine, socket, origin),
    refuse(socket, refusal) {
      context.refusals.set(socket, refusal)
      server.emit('connection', socket)
    },
  }
}

/** The node:http server of a dispatcher, and what it refuses before a request gets there. */
import { createServer, ServerResponse, type IncomingMessage, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { errno } from '../errors.ts'
import type { Log } from '../log.ts'
import { SocketUpgrade } from '../route.ts'
import type { Dispatcher } from './dispatch.ts'
import { connectionClosed } from './connection-closed.ts'
import { exchangeOf } from './exchange.ts'
import { endRaw } from './raw-answer.ts'
import { drain, send } from './reply.ts'
import { createTurns } from './turns.ts'
import { toRequest } from './request.ts'
import { settleTarget } from './target.ts'

/** Handlers for node's events; for servers with more than one dispatcher behind one port. */
export interface Listener {
  request(message: IncomingMessage, response: ServerResponse): void
  upgrade(message: IncomingMessage, socket: Duplex, head: Buffer): void
}

export interface ListenerOptions {
  readonly log: Log
  /** Who is at the other end; whom the socket names unless given. */
  readonly remoteOf?: (message: IncomingMessage) => string
}

export const listener = (dispatcher: Dispatcher, { log, remoteOf }: ListenerOptions): Listener => {
  const request = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new AbortController()
    response.once('close', () => gone.abort(connectionClosed))
    const ofResponse = exchangeOf(response)
    // An answer that has not begun is still given: a call may be what ended its own credential.
    const exchange = { ...ofResponse, cut: () => void (response.headersSent && ofResponse.cut()) }
    const result = await dispatcher.dispatch(toRequest(message, exchange, remoteOf?.(message)), gone)
    if (response.destroyed) return
    // An abandoned body is never parsed to its end: later requests on this connection would not be seen.
    if (message.destroyed && !message.complete) response.setHeader('connection', 'close')
    if (result instanceof SocketUpgrade) {
      // The upgrade was asked for in a form that node does not recognise.
      response.writeHead(400, { 'content-length': '0', connection: 'close' })
      response.end()
    } else await send(result, response, gone.signal, log)
    drain(message)
  }
  const upgrade = async (message: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const gone = new AbortController()
    socket.once('close', () => gone.abort(connectionClosed))
    socket.on('error', error => log.debug('socket.error', { error }))
    const result = await dispatcher.dispatch(toRequest(message, exchangeOf(socket), remoteOf?.(message)), gone)
    if (result instanceof SocketUpgrade) return result.run(socket, head, message)
    if (socket.destroyed) return
    // A route without upgrade answers as always.
    const response = new ServerResponse(message)
    response.shouldKeepAlive = false
    response.assignSocket(socket as Socket)
    response.once('finish', () => socket.end())
    await send(result, response, gone.signal, log)
  }
  return {
    request(message, response) {
      request(message, response).catch(error => {
        log.error('request.broken', { error })
        response.destroy()
      })
    },
    upgrade(message, socket, head) {
      upgrade(message, socket, head).catch(error => {
        log.error('upgrade.broken', { error })
        socket.destroy()
      })
    },
  }
}

/** Statuses for what node's parser refuses; anything else is 400. */
const refusals: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/**
 * Browsers and our clients upgrade to WebSocket. Others offer HTTP/2 (`h2c`) with their first request and continue in
 * HTTP/1.1 when the offer is ignored; the body of such a request must not be taken for upgraded traffic.
 */
export const mayUpgrade = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && !/\bh2c?\b/i.test(headers.upgrade ?? '')

/** An answer that has begun or is about to. */
export interface Answer extends Pick<ServerResponse, 'headersSent' | 'writableEnded'>, NodeJS.EventEmitter {
  readonly req: { readonly socket: Duplex }
}

/** A server that knows its unfinished answers. */
export interface ApiServer extends Server {
  readonly answers?: ReadonlySet<Answer>
  /** Makes one of them, until it is over: for answers to requests that node has not read. */
  answering?(answer: Answer): void
  /** Node's own reader of connections, where that is not the first listener for `connection`: another may look at them before it. */
  readonly entrance?: { readonly event: string; readonly read: (socket: Socket) => void }
}

/** No time limit on requests or replies: log streams, watches and terminals may last. */
export const timing = { requestTimeout: 0, headersTimeout: 30_000, keepAliveTimeout: 120_000 } as const

/** This is not a proxy, which is said instead of just closing; HTTP/2 has an answer in place of the socket. */
const refuseConnect = (_message: unknown, to: Duplex | ServerResponse): void => {
  if (!('writeHead' in to)) return endRaw(to, { status: 404 })
  to.writeHead(404)
  to.end()
}

/** Makes the handlers of `on` those of a server. */
export const attach = (server: Server, on: Listener): ApiServer => {
  const answers = new Set<Answer>()
  const answering = (answer: Answer): void => {
    answers.add(answer)
    answer.once('close', () => answers.delete(answer))
  }
  const turns = createTurns()
  server.timeout = 0
  server.on('request', (message, response) => {
    answering(response)
    // Clients on old connections are to reconnect.
    if (!server.listening) response.shouldKeepAlive = false
    if (settleTarget(message)) {
      // Streams of HTTP/2 have no order.
      if (message.httpVersionMajor !== 1) return on.request(message, response)
      return turns.take(message.socket, response, () => on.request(message, response))
    }
    response.writeHead(400, { connection: 'close', 'content-length': '0' })
    response.end()
  })
  server.on('upgrade', (message, socket, head) => {
    if (settleTarget(message)) on.upgrade(message, socket, head)
    else endRaw(socket, { status: 400 })
  })
  server.on('connect', refuseConnect)
  server.on('clientError', (error, socket) => {
    // In the middle of an answer, an error would be read as part of it.
    if ([...answers].some(({ headersSent, req }) => headersSent && req.socket === socket)) socket.destroy()
    else endRaw(socket, { status: refusals[errno(error) ?? ''] ?? 400 })
  })
  return Object.assign(server, { answers, answering })
}

/** A server for `listener`. */
export const serveWith = (
  on: Listener,
  { maxHeadBytes = 1024 * 1024 }: { readonly maxHeadBytes?: number } = {},
): ApiServer => attach(createServer({ ...timing, maxHeaderSize: maxHeadBytes, shouldUpgradeCallback: mayUpgrade }), on)

export const serve = (dispatcher: Dispatcher, options: { log: Log }): ApiServer =>
  serveWith(listener(dispatcher, options))

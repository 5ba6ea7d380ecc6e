/** A node:http server in front of a dispatcher, and what it refuses before a request reaches one. */
import { createServer, ServerResponse, type IncomingMessage, type Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { errno } from '../errors.ts'
import type { Log } from '../log.ts'
import { Takeover } from '../route.ts'
import type { Dispatcher } from './dispatch.ts'
import { connectionClosed } from './gone.ts'
import { dismiss, send } from './reply.ts'
import { toRequest } from './request.ts'
import { settleTarget } from './target.ts'

/** What a dispatcher does with node's events; for servers that have more than one dispatcher behind one port. */
export interface Listener {
  request(message: IncomingMessage, response: ServerResponse): void
  upgrade(message: IncomingMessage, socket: Duplex, head: Buffer): void
}

export const listener = (dispatcher: Dispatcher, options: { log: Log }): Listener => {
  const { log } = options
  const request = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const gone = new AbortController()
    response.once('close', () => gone.abort(connectionClosed))
    const result = await dispatcher.dispatch(toRequest(message), gone.signal)
    if (response.destroyed) return
    // A body given up half-way is never parsed to its end: nothing that comes later on this connection would be seen.
    if (message.destroyed && !message.complete) response.setHeader('connection', 'close')
    if (result instanceof Takeover) {
      // Asked for in a form that node does not take for an upgrade.
      response.writeHead(400, { 'content-length': '0', connection: 'close' })
      response.end()
    } else await send(result, response, gone.signal, log)
    dismiss(message)
  }
  const upgrade = async (message: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    const gone = new AbortController()
    socket.once('close', () => gone.abort(connectionClosed))
    socket.on('error', error => log.debug('socket.error', { error }))
    const result = await dispatcher.dispatch(toRequest(message), gone.signal)
    if (result instanceof Takeover) return result.run(socket, head, message)
    if (socket.destroyed) return
    // A route that knows no upgrade answers as it always does, whatever kind of body that is.
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

/** What node's parser refuses, in HTTP's words; anything else is 400. */
const refusals: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

const refuse = (socket: Duplex, status: string): void => {
  if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
  else socket.destroy()
}

/**
 * Browsers and our clients upgrade to WebSocket. Others offer HTTP/2 (`h2c`) with their first request, whatever it is,
 * and go on in HTTP/1.1 when the offer is ignored; a body that belongs to the request must not be taken for what follows.
 */
const mayUpgrade = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' && !/\bh2c?\b/i.test(headers.upgrade ?? '')

/** A server that knows which of its answers are not finished. */
export interface ApiServer extends Server {
  readonly answers?: ReadonlySet<ServerResponse>
}

/** A server for `listener`; no deadline on a request or reply: log streams, watches and terminals live as long as they are wanted. */
export const serveWith = (on: Listener): ApiServer => {
  const server = createServer({
    requestTimeout: 0,
    headersTimeout: 30_000,
    keepAliveTimeout: 120_000,
    maxHeaderSize: 1024 * 1024,
    shouldUpgradeCallback: mayUpgrade,
  })
  const answers = new Set<ServerResponse>()
  server.timeout = 0
  server.on('request', (message, response) => {
    answers.add(response)
    response.once('close', () => answers.delete(response))
    // Who goes on asking on a connection of before shall connect anew.
    if (!server.listening) response.shouldKeepAlive = false
    if (settleTarget(message)) return on.request(message, response)
    response.writeHead(400, { connection: 'close', 'content-length': '0' })
    response.end()
  })
  server.on('upgrade', (message, socket, head) => {
    if (settleTarget(message)) on.upgrade(message, socket, head)
    else refuse(socket, '400 Bad Request')
  })
  // We are no proxy, and say so instead of closing without a word.
  server.on('connect', (_message, socket) => refuse(socket, '404 Not Found'))
  server.on('clientError', (error, socket) => {
    // In the middle of an answer an error would be read as part of it.
    if ([...answers].some(({ headersSent, req }) => headersSent && req.socket === socket)) socket.destroy()
    else refuse(socket, refusals[errno(error) ?? ''] ?? '400 Bad Request')
  })
  return Object.assign(server, { answers })
}

export const serve = (dispatcher: Dispatcher, options: { log: Log }): ApiServer =>
  serveWith(listener(dispatcher, options))

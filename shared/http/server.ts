/** node:http in and out: the only file that sees IncomingMessage and ServerResponse of an API. */
import { once } from 'node:events'
import { createServer, ServerResponse, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { Duplex } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errno } from '../errors.ts'
import type { Log } from '../log.ts'
import { SocketUpgrade, type Reply, type Request } from '../route.ts'
import type { Dispatcher } from './dispatch.ts'
import { textOf } from '../utf8.ts'
import { settleTarget } from './target.ts'
import { connectionClosed } from './gone.ts'

export interface Listening {
  readonly port: number
  readonly server: Server
  /**
   * Stops accepting without closing the socket, which the caller must hold by another descriptor: who connects waits
   * there. Resolves when no request waits for its answer any more, but after `graceMs` at the latest.
   */
  pause(graceMs: number): Promise<void>
  /** Goes on with a socket that listens. */
  resume(fd: number): Promise<void>
  /** Stops accepting, gives open requests `graceMs` to end, then cuts them. */
  close(graceMs?: number): Promise<void>
}

/** Decodes once; bytes that are no UTF-8 stay what they are (`utf8.ts`). A malformed escape keeps the raw text. */
export const decodePath = (rawPath: string): string => {
  if (!rawPath.includes('%')) return rawPath
  try {
    return decodeURIComponent(rawPath)
  } catch {
    if (isMalformed(rawPath)) return rawPath
    return rawPath.replace(/(?:%[0-9a-f]{2})+/gi, run => textOf(Buffer.from(run.replaceAll('%', ''), 'hex')))
  }
}

/** True when a percent sign is not followed by two hexadecimal digits. */
export const isMalformed = (rawPath: string): boolean => /%(?![0-9a-f]{2})/i.test(rawPath)

/** The plain request that handlers see. */
export const toRequest = (message: IncomingMessage): Request => {
  const url = message.url ?? '/'
  const cut = url.indexOf('?')
  const rawPath = cut < 0 ? url : url.slice(0, cut)
  const rawQuery = cut < 0 ? '' : url.slice(cut + 1)
  return {
    method: message.method ?? 'GET',
    rawPath,
    path: decodePath(rawPath),
    search: new URLSearchParams(rawQuery),
    rawQuery,
    headers: message.headers,
    body: message,
    remote: message.socket.remoteAddress ?? '',
    local: message.socket.localAddress ?? '',
    connection: message.socket,
  }
}

const leaving: ReadonlySet<string> = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE'])

const send = async (reply: Reply, response: ServerResponse, signal: AbortSignal, log: Log): Promise<void> => {
  const { status, headers, body } = reply
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    const length = body === undefined ? 0 : Buffer.byteLength(body)
    const bare = status === 204 || status === 304 || (status >= 100 && status < 200)
    response.writeHead(
      status,
      bare || 'content-length' in headers ? headers : { ...headers, 'content-length': String(length) },
    )
    response.end(body)
    return
  }
  response.writeHead(status, headers)
  response.flushHeaders()
  try {
    if (body instanceof Readable) await pipeline(body, response)
    else {
      await body(response, signal)
      response.end()
    }
  } catch (error) {
    // The status line is gone: cutting the connection is the only way left to say that the body is not whole.
    // `pipeline` has closed the response by now, so that the signal says nothing about who was first.
    const clientLeft = body instanceof Readable ? leaving.has(errno(error) ?? '') : signal.aborted
    if (!clientLeft) log.warn('reply.cut', { error })
    response.destroy()
  }
}

/** A body nobody read: let a small rest drain so that the connection can be used again, cut a large one. */
const dismiss = (message: IncomingMessage): void => {
  if (message.complete || message.destroyed) return
  let left = 1024 * 1024
  message.on('data', (piece: Buffer) => {
    left -= piece.length
    if (left < 0) message.destroy()
  })
  message.resume()
}

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
    if (result instanceof SocketUpgrade) {
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
    if (result instanceof SocketUpgrade) return result.run(socket, head, message)
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

/** Where a server listens; port 0 picks a free one, a descriptor is a socket that listens already. */
export type Address = { port: number; host?: string } | { fd: number }

const bind = (server: Server, address: Address): Promise<void> =>
  new Promise((resolve, reject) => {
    const place = 'fd' in address ? { fd: address.fd } : { port: address.port, host: address.host }
    server.once('error', reject)
    server.listen(place, () => {
      server.off('error', reject)
      resolve()
    })
  })

/**
 * Resolves when nobody waits for an answer to begin or for the last bytes of one, nor has connected and not asked yet.
 * Streams that flow, and sockets that were taken over, are not waited for.
 */
const answered = async (
  server: ApiServer,
  connections: ReadonlySet<Duplex>,
  taken: ReadonlySet<Duplex>,
  signal: AbortSignal,
): Promise<void> => {
  const { answers = new Set() } = server
  for (;;) {
    server.closeIdleConnections()
    const asking = new Set([...answers].map(({ req }) => req.socket as Duplex))
    const waiting = [
      ...[...answers].filter(({ headersSent, writableEnded }) => !headersSent || writableEnded),
      ...[...connections].filter(socket => !asking.has(socket) && !taken.has(socket)),
    ]
    if (waiting.length === 0) return
    const over = new AbortController()
    const any = { signal: AbortSignal.any([signal, over.signal]) }
    const changes = [once(server, 'request', any), ...waiting.map(one => once(one, 'close', any))]
    await Promise.race(changes).finally(() => over.abort())
    // The others were given up with it.
    void Promise.allSettled(changes)
  }
}

export const listen = async (server: ApiServer, address: Address): Promise<Listening> => {
  const connections = new Set<Duplex>()
  server.on('connection', socket => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  await bind(server, address)
  const { port } = server.address() as AddressInfo
  // Node counts a socket that was taken over as nobody's, yet waits for it when it closes.
  const taken = new Set<Duplex>()
  server.on('upgrade', (_message, socket) => {
    taken.add(socket)
    socket.once('close', () => taken.delete(socket))
  })
  return {
    port,
    server,
    async pause(graceMs) {
      server.close()
      // What is left then is cut: the caller cannot wait for ever.
      await answered(server, connections, taken, AbortSignal.timeout(graceMs)).catch(() => undefined)
    },
    resume: fd => bind(server, { fd }),
    async close(graceMs = 1_000) {
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      server.closeIdleConnections()
      const timer = setTimeout(() => {
        server.closeAllConnections()
        for (const socket of taken) socket.destroy()
      }, graceMs)
      await closed
      clearTimeout(timer)
    },
  }
}

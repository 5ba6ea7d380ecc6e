/** HTTP/2 on both sides, stream for stream: gRPC with its trailers, uploads and downloads that never end. */
import {
  connect,
  constants,
  performServerHandshake,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { Engine } from '../engine.ts'
import { answerFor, type Reason } from './answers.ts'
import { collect, roomFor } from './collect.ts'
import { plainFields, split, toObject, trailingFields } from './fields.ts'
import { echoHeaders, injectBody } from './inject.ts'
import { judge, tellCanary, tellSkipped, type Judged } from './judge.ts'
import type { Origin } from './origin.ts'
import { readRequest, type RequestLines } from './request.ts'

const settings = { enablePush: false, maxConcurrentStreams: 256, maxHeaderListSize: 64 * 1024 } as const
const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM } = constants

interface Session {
  readonly engine: Engine
  readonly origin: Origin
  /** To the server; made with the first stream, and again when it has gone. */
  server: Promise<ClientHttp2Session | Reason> | undefined
}

/** For handlers of events: what they throw would end the server, and both sides say what makes node:http2 throw. */
const guarded =
  <T extends unknown[]>(engine: Engine, stream: ServerHttp2Stream | ClientHttp2Stream, handle: (...said: T) => void) =>
  (...said: T): void => {
    if (stream.destroyed || stream.closed) return
    try {
      handle(...said)
    } catch (error) {
      engine.log.error('egress.stream.failed', { error })
      stream.close(NGHTTP2_CANCEL)
    }
  }

const answer = (engine: Engine, stream: ServerHttp2Stream, reason: Reason, requestId: string): void => {
  if (stream.destroyed || stream.headersSent) return stream.close(NGHTTP2_CANCEL)
  const { status, headers, body } = answerFor(reason, requestId, engine.names)
  stream.respond({ ':status': status, ...toObject(headers) })
  stream.end(body)
}

const dialSession = async (session: Session, host: string): Promise<ClientHttp2Session | Reason> => {
  const { origin } = session
  const connected = await origin.connect(host)
  if (!connected.ok) return connected.reason
  const server = connect(`${origin.scheme}://${host}`, { createConnection: () => connected.socket, settings })
  const forget = () => {
    session.server = undefined
  }
  server.once('close', forget)
  server.once('goaway', forget)
  server.on('error', () => server.destroy())
  return server
}

const serverOf = (session: Session, host: string): Promise<ClientHttp2Session | Reason> => {
  const started = (session.server ??= dialSession(session, host))
  void started.then(result => {
    if (typeof result === 'string' && session.server === started) session.server = undefined
  })
  return started
}

interface Asked {
  readonly method: string
  readonly target: string
  readonly lines: RequestLines
  readonly judged: Judged
}

const readStream = (
  { engine, origin }: Session,
  stream: ServerHttp2Stream,
  raw: readonly string[],
): Asked | { reason: Reason; requestId: string } => {
  const { pseudo, fields } = split(raw)
  const requestId = engine.requestId()
  const lines = readRequest(fields, engine.names)
  if (typeof lines === 'string') return { reason: 'bad_request', requestId }
  const authority = pseudo.get(':authority') ?? lines.host
  if (lines.host !== undefined && lines.host !== authority) return { reason: 'host_mismatch', requestId }
  if (pseudo.has(':protocol') || pseudo.get(':scheme') !== origin.scheme) return { reason: 'bad_request', requestId }
  const method = pseudo.get(':method') as string
  const target = pseudo.get(':path') ?? ''
  const known = fields.some((name, at) => at % 2 === 0 && name === 'content-length')
  const length = stream.readableEnded || stream.endAfterHeaders ? 0 : known ? lines.length : undefined
  const read = { ...lines, host: authority, length }
  const judged = judge(engine, origin, { method, target, lines: read, protocol: 'h2' })
  if (judged.ok) return { method, target, lines: read, judged }
  return { reason: judged.reason === 'host_mismatch' ? 'misdirected' : judged.reason, requestId: judged.requestId }
}

const requestHeaders = (
  { origin }: Session,
  { method, target, lines, judged }: Asked,
  body: Buffer | undefined,
): OutgoingHttpHeaders => {
  const usual = origin.scheme === 'http' ? 80 : 443
  const headers: OutgoingHttpHeaders = {
    ...toObject(judged.headers),
    ':method': method,
    ':path': target,
    ':scheme': origin.scheme,
    ':authority': origin.port === usual ? judged.host : `${judged.host}:${origin.port}`,
  }
  const length = body?.length ?? lines.length
  if (length !== undefined && length > 0) headers['content-length'] = String(length)
  if (lines.trailers) headers['te'] = 'trailers'
  return headers
}

/** What is one side's end is the other's. */
const tie = (client: ServerHttp2Stream, server: ClientHttp2Stream): void => {
  const code = (of: ServerHttp2Stream | ClientHttp2Stream) => of.rstCode || NGHTTP2_CANCEL
  client.on('error', () => server.close(code(client)))
  server.on('error', () => client.close(code(server)))
  client.once('aborted', () => server.close(code(client)))
  server.once('aborted', () => client.close(code(server)))
  client.once('close', () => server.close(code(client)))
  server.once('close', () => {
    if (server.rstCode !== 0 || !client.headersSent) client.close(code(server))
  })
}

const respond = (session: Session, asked: Asked, client: ServerHttp2Stream, server: ClientHttp2Stream): void => {
  const { engine } = session
  const added = engine.names.requestId.flatMap(name => [name, asked.judged.requestId])
  if (asked.judged.injection) added.push(...echoHeaders(asked.judged.injection.calls, engine.names))
  let trailers: OutgoingHttpHeaders = {}
  const handled = <T extends unknown[]>(handle: (...said: T) => void) => guarded(engine, client, handle)
  server.on(
    'headers',
    handled((headers: IncomingHttpHeaders & { ':status'?: number }) => {
      if (headers[':status'] === 103) client.additionalHeaders({ ':status': 103, ...plainFields(headers) })
    }),
  )
  server.on('trailers', headers => {
    trailers = trailingFields(headers, engine.names.withheld)
  })
  server.on(
    'response',
    handled((headers: IncomingHttpHeaders & { ':status'?: number }, flags: number) => {
      const own = plainFields(headers)
      for (const name of engine.names.withheld) delete own[name]
      const ended = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0
      client.respond(
        { ':status': Number(headers[':status']), ...own, ...toObject(added) },
        { endStream: ended, waitForTrailers: !ended },
      )
      if (!ended) server.pipe(client)
    }),
  )
  client.on(
    'wantTrailers',
    handled(() => client.sendTrailers(trailers)),
  )
}

const sendBody = (
  session: Session,
  asked: Asked,
  client: ServerHttp2Stream,
  server: ClientHttp2Stream,
  body: Buffer | undefined,
): void => {
  const { tenant } = session.origin
  const canaries = tenant.canaries.search(name =>
    tellCanary(session.origin, asked.judged.host, asked.judged.requestId, name),
  )
  if (body) {
    canaries.piece(body)
    return void server.end(body)
  }
  let trailers: OutgoingHttpHeaders = {}
  client.on('trailers', headers => {
    trailers = trailingFields(headers, session.engine.names.withheld)
    canaries.text(Object.values(trailers).join('\n'))
  })
  server.on(
    'wantTrailers',
    guarded(session.engine, server, () => server.sendTrailers(trailers)),
  )
  if (tenant.canaries.names.length > 0) client.on('data', (piece: Buffer) => canaries.piece(piece))
  client.pipe(server)
}

const serveStream = async (session: Session, client: ServerHttp2Stream, raw: readonly string[]): Promise<void> => {
  const { engine, origin } = session
  client.on('error', () => client.destroy())
  const asked = readStream(session, client, raw)
  if ('reason' in asked) return answer(engine, client, asked.reason, asked.requestId)
  const { judged, lines, method } = asked
  let body: Buffer | undefined
  if (judged.injection?.needsBody) {
    const length = lines.length as number
    if (!roomFor(origin, judged, length, client)) return answer(engine, client, 'limit', judged.requestId)
    const collected = await collect(client, length)
    if (!collected) return client.close(NGHTTP2_CANCEL)
    body = injectBody(collected, judged.rules, method, lines, judged.injection, engine.clock)
  }
  tellSkipped(origin, judged)
  const upstream = await serverOf(session, judged.host)
  if (typeof upstream === 'string') return answer(engine, client, upstream, judged.requestId)
  if (client.destroyed) return
  if (upstream.destroyed || upstream.closed) return client.close(NGHTTP2_REFUSED_STREAM)
  const bodiless = lines.length === 0 && body === undefined
  const server = upstream.request(requestHeaders(session, asked, body), {
    endStream: bodiless,
    waitForTrailers: !bodiless && !body,
  })
  tie(client, server)
  respond(session, asked, client, server)
  if (!bodiless) sendBody(session, asked, client, server, body)
}

/** Serves HTTP/2 on a connection whose requests go to the origin. */
export const serveSession = (engine: Engine, socket: Socket, origin: Origin): void => {
  const client: ServerHttp2Session = performServerHandshake(socket, { settings, enableConnectProtocol: false } as never)
  const session: Session = { engine, origin, server: undefined }
  client.on('error', () => client.destroy())
  client.on('stream', (stream, _headers, _flags, raw) => {
    serveStream(session, stream, raw as unknown as string[]).catch(error => {
      engine.log.error('egress.stream.failed', { error })
      stream.close(NGHTTP2_CANCEL)
    })
  })
  client.once('close', () => {
    void session.server?.then(server => {
      if (typeof server !== 'string') server.destroy()
    })
  })
}

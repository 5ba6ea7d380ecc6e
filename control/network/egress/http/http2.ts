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
import type { Transform } from 'node:stream'
import type { Engine } from '../engine.ts'
import { answerFor, type Reason } from './answers.ts'
import { collect, keepRequest, roomFor } from './collect.ts'
import { plainFields, split, toObject, trailingFields } from './fields.ts'
import { echoHeaders, injectBody, type Injection } from './inject.ts'
import { judge, tellSkipped, type Judged } from './judge.ts'
import type { Origin } from './origin.ts'
import { guarded, request, tie } from './streams.ts'
import { readRequest, type RequestLines } from './request.ts'
import { searchFor, watchBody } from './watch.ts'

const settings = { enablePush: false, maxConcurrentStreams: 256, maxHeaderListSize: 64 * 1024 } as const
/** Of one connection from a sandbox. */
const maxServers = 16
/** Of one answer. */
const maxInterim = 32
const { NGHTTP2_CANCEL, NGHTTP2_REFUSED_STREAM } = constants

interface Session {
  readonly engine: Engine
  readonly origin: Origin
  /** By host: that one may be reached at this address says nothing of another, whose credentials are for it alone. */
  readonly servers: Map<string, Server>
}

interface Server {
  /** Policy under which it was connected to. */
  readonly generation: number
  readonly made: Promise<ClientHttp2Session | Reason>
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
  server.on('error', () => server.destroy())
  return server
}

const serverOf = (session: Session, host: string): Promise<ClientHttp2Session | Reason> => {
  const { servers, origin } = session
  const { generation } = origin.tenant
  const known = servers.get(host)
  if (known?.generation === generation) return known.made
  if (!known && servers.size >= maxServers) return Promise.resolve('limit')
  // What is under way there goes on.
  void known?.made.then(
    made => typeof made !== 'string' && made.close(),
    () => {},
  )
  const server = { generation, made: dialSession(session, host) }
  servers.set(host, server)
  const forget = () => void (servers.get(host) === server && servers.delete(host))
  server.made.then(made => {
    if (typeof made === 'string') forget()
    else made.once('close', forget).once('goaway', forget)
  }, forget)
  return server.made
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

const respond = (session: Session, asked: Asked, client: ServerHttp2Stream, server: ClientHttp2Stream): void => {
  const { engine } = session
  const added = engine.names.requestId.flatMap(name => [name, asked.judged.requestId])
  if (asked.judged.injection) added.push(...echoHeaders(asked.judged.injection.calls, engine.names))
  let trailers: OutgoingHttpHeaders = {}
  const handled = <T extends unknown[]>(handle: (...said: T) => void) => guarded(engine, client, handle)
  let interim = 0
  server.on(
    'headers',
    handled((headers: IncomingHttpHeaders & { ':status'?: number }) => {
      // Flow control does not slow them down.
      if (++interim > maxInterim) return server.close(NGHTTP2_CANCEL)
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
  watch: Transform | undefined,
): void => {
  const search = searchFor(session.origin, asked.judged)
  if (body) {
    search?.piece(body)
    return void server.end(body)
  }
  let trailers: OutgoingHttpHeaders = {}
  client.on('trailers', headers => {
    trailers = trailingFields(headers, session.engine.names.withheld)
    search?.text(Object.entries(trailers).flat().join('\n'))
  })
  server.on(
    'wantTrailers',
    guarded(session.engine, server, () => server.sendTrailers(trailers)),
  )
  if (watch) client.pipe(watch).pipe(server)
  else client.pipe(server)
}

const serveStream = async (session: Session, client: ServerHttp2Stream, raw: readonly string[]): Promise<void> => {
  const { engine, origin } = session
  client.on('error', () => client.destroy())
  const asked = readStream(session, client, raw)
  if ('reason' in asked) return answer(engine, client, asked.reason, asked.requestId)
  const { judged, lines, method } = asked
  const open = keepRequest(origin, judged, client, () => client.close(NGHTTP2_CANCEL))
  if (!open) return answer(engine, client, 'limit', judged.requestId)
  const end = () => client.close(NGHTTP2_CANCEL)
  const isHeld = judged.injection?.needsBody === true
  const watch =
    isHeld || lines.length === 0
      ? undefined
      : watchBody({ clock: engine.clock, origin, judged, exchange: client, end }, lines.codings)
  if (watch === 'not_searched') return answer(engine, client, watch, judged.requestId)
  let body: Buffer | undefined
  if (isHeld) {
    const length = lines.length as number
    if (!roomFor(origin, judged, length, client)) return answer(engine, client, 'limit', judged.requestId)
    const collected = await collect(client, length)
    if (!collected) return client.close(NGHTTP2_CANCEL)
    body = injectBody(collected, judged.rules, method, lines, judged.injection as Injection, engine.clock)
  }
  tellSkipped(origin, judged)
  const upstream = await serverOf(session, judged.host)
  if (typeof upstream === 'string') return answer(engine, client, upstream, judged.requestId)
  if (client.destroyed) return
  if (upstream.destroyed || upstream.closed) return client.close(NGHTTP2_REFUSED_STREAM)
  open.sent = true
  const bodiless = lines.length === 0 && body === undefined
  const options = { endStream: bodiless, waitForTrailers: !bodiless && !body }
  const server = request(upstream, requestHeaders(session, asked, body), options)
  if (!server) return answer(engine, client, 'bad_request', judged.requestId)
  tie(client, server)
  respond(session, asked, client, server)
  if (!bodiless) sendBody(session, asked, client, server, body, watch)
}

/** Serves HTTP/2 on a connection whose requests go to the origin. */
export const serveSession = (engine: Engine, socket: Socket, origin: Origin): void => {
  const client: ServerHttp2Session = performServerHandshake(socket, { settings, enableConnectProtocol: false } as never)
  const session: Session = { engine, origin, servers: new Map() }
  client.on('error', () => client.destroy())
  client.on('stream', (stream, _headers, _flags, raw) => {
    serveStream(session, stream, raw as unknown as string[]).catch(error => {
      engine.log.error('egress.stream.failed', { error })
      stream.close(NGHTTP2_CANCEL)
    })
  })
  client.once('close', () => {
    for (const { made: server } of session.servers.values())
      server.then(
        made => typeof made !== 'string' && made.destroy(),
        () => {},
      )
  })
}

/** One HTTP/1.1 request from a sandbox to its server, and the answer back. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Transform } from 'node:stream'
import type { Engine } from '../engine.ts'
import { answerFor, type Reason } from './answers.ts'
import { collect, keepRequest, roomFor } from './collect.ts'
import { mayTrail } from './fields.ts'
import { echoHeaders, injectBody } from './inject.ts'
import { judge, tellSkipped, type Judged, pathOf } from './judge.ts'
import type { Connected, Origin } from './origin.ts'
import { keepingSink } from './keeping-sink.ts'
import { fromPackages, type Keeping } from './packages.ts'
import { readMessage, type RequestLines } from './request.ts'
import { responseSink } from './response-sink.ts'
import { createUpstream, type Upstream } from './upstream.ts'
import type { OpenRequest } from '../under-way.ts'
import { searchFor, watchBody } from './watch.ts'

export interface Exchange {
  readonly engine: Engine
  readonly origin: Origin
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly judged: Judged
  readonly open: OpenRequest
  readonly lines: RequestLines
  readonly target: string
  /** Under which the connection is kept for the next request. */
  readonly key: string
  /** The body where it was collected. */
  body: Buffer | undefined
  /** What a body that is not collected goes through. */
  watch?: Transform | undefined
  /** Its answer is to be kept, and how it is asked for then. */
  readonly keeping?: Keeping
  /** What is sent where this cannot be. */
  readonly instead?: Exchange
}

/** Ends an exchange with an answer of our own; closes the connection, because a body may be on its way. */
export const answer = (
  engine: Engine,
  res: ServerResponse,
  reason: Reason,
  requestId: string,
  detail?: string,
): void => {
  if (res.headersSent) return void res.destroy()
  const { status, headers, body } = answerFor(reason, requestId, engine.names, detail)
  res.writeHead(status, [...headers, 'Connection', 'close'])
  res.end(body)
}

const hostLine = ({ origin, judged }: Exchange): string => {
  const usual = origin.scheme === 'http' ? 80 : 443
  return origin.port === usual ? judged.host : `${judged.host}:${origin.port}`
}

/** The head as it is sent; `length` is that of the body, undefined for a chunked one. */
export const headOf = (exchange: Exchange, length: number | undefined): string => {
  const { req, judged, target, lines } = exchange
  const { headers } = judged
  let text = `${req.method} ${target} HTTP/1.1\r\nHost: ${hostLine(exchange)}\r\n`
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
  if (lines.websocket) return `${text}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
  if (lines.trailers) text += 'TE: trailers\r\nConnection: TE\r\n'
  if (length === undefined) text += 'Transfer-Encoding: chunked\r\n'
  else if (length > 0 || bodied.has(req.method as string)) text += `Content-Length: ${length}\r\n`
  return `${text}\r\n`
}

const bodied: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

/** Sends the body as it comes, no faster than the server takes it. */
const stream = ({ engine, origin, req, lines, judged, watch }: Exchange, upstream: Upstream): void => {
  const chunked = lines.length === undefined
  const source = watch ? req.pipe(watch) : req
  source.on('data', (piece: Buffer) => {
    let room: boolean
    if (chunked) {
      upstream.socket.cork()
      upstream.write(`${piece.length.toString(16)}\r\n`)
      upstream.write(piece)
      room = upstream.write('\r\n')
      upstream.socket.uncork()
    } else room = upstream.write(piece)
    if (room) return
    source.pause()
    upstream.onDrain(() => source.resume())
  })
  source.on('end', () => {
    if (chunked) {
      const trailers = trailersOf(req, engine.names.withheld)
      searchFor(origin, judged)?.text(trailers)
      upstream.write(`0\r\n${trailers}\r\n`)
    }
    upstream.endBody()
  })
}

const trailersOf = ({ rawTrailers }: IncomingMessage, withheld: ReadonlySet<string>): string => {
  let text = ''
  for (let i = 0; i < rawTrailers.length; i += 2)
    if (mayTrail((rawTrailers[i] as string).toLowerCase(), withheld))
      text += `${rawTrailers[i]}: ${rawTrailers[i + 1]}\r\n`
  return text
}

const idempotent: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])

const send = (exchange: Exchange, upstream: Upstream): void => {
  const { engine, origin, req, res, judged, open, lines, body } = exchange
  const length = body ? body.length : lines.length
  const bodiless = length === 0
  const again = upstream.used && (bodiless || body !== undefined) && idempotent.has(req.method as string)
  const echo = judged.injection ? echoHeaders(judged.injection.calls, engine.names) : []
  let isOver = false
  const passing = responseSink({
    req,
    res,
    upstream,
    added: [...engine.names.requestId.flatMap(name => [name, judged.requestId]), ...echo],
    withheld: engine.names.withheld,
    // The server closed a kept connection just when it was used again: nothing was done there yet.
    failed: before => {
      if (again && before) void connectAndSend(exchange)
      else answer(engine, res, 'bad_answer', judged.requestId)
    },
  })
  const { keeping, instead } = exchange
  const over = () => void (isOver = true)
  const retry = () => void connectAndSend(instead ?? exchange)
  const sink = keeping ? keepingSink(exchange, keeping, passing, { over, again: retry }) : passing
  open.sent = true
  upstream.send(headOf(exchange, length), sink, {
    toHead: req.method === 'HEAD',
    bodiless: bodiless || body !== undefined,
  })
  if (body) {
    searchFor(origin, judged)?.piece(body)
    upstream.write(body)
  } else if (!bodiless) stream(exchange, upstream)
  const leave = () => {
    // The sandbox has gone before its answer was complete.
    if (!res.writableFinished && !isOver) upstream.destroy()
  }
  res.once('close', leave)
}

const connectAndSend = async (exchange: Exchange): Promise<void> => {
  const { engine, origin, res, judged, open, key, instead } = exchange
  open.sent = false
  const connected: Connected = await origin.connect(judged.host)
  if (!connected.ok) {
    if (instead && instead.origin !== origin) return connectAndSend(instead)
    if (connected.rule !== undefined || connected.reason !== 'unreachable') tellRefused(exchange, connected.reason)
    return answer(engine, res, connected.reason, judged.requestId, connected.detail)
  }
  if (res.destroyed) return void connected.socket.destroy()
  send(
    exchange,
    createUpstream(connected.socket, upstream => origin.pool.give(key, upstream)),
  )
}

const tellRefused = ({ origin, judged, req, target }: Exchange, reason: Reason): void =>
  origin.tenant.events.add({
    kind: 'request',
    verdict: 'blocked',
    reason,
    requestId: judged.requestId,
    host: judged.host,
    port: origin.port,
    address: origin.address,
    protocol: origin.scheme,
    method: req.method,
    path: pathOf(target),
  })

/** Passes a request on, or answers it. `target` is its path and query. */
export const forward = async (
  engine: Engine,
  origin: Origin,
  target: string,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> => {
  const lines = readMessage(req, engine.names)
  if (typeof lines === 'string') return answer(engine, res, 'bad_request', engine.requestId(), lines)
  const judged = judge(engine, origin, { method: req.method as string, target, lines, protocol: origin.scheme })
  if (!judged.ok) return answer(engine, res, judged.reason, judged.requestId)
  const { tenant } = origin
  const key = `${tenant.generation} ${judged.host}:${origin.port}:${origin.address ?? ''}`
  const open = keepRequest(origin, judged, res, () => req.socket.destroy())
  if (!open) return answer(engine, res, 'limit', judged.requestId)
  const exchange: Exchange = { engine, origin, req, res, judged, open, lines, target, key, body: undefined }
  if (!judged.injection?.needsBody && lines.length !== 0) {
    const end = () => void req.socket.destroy()
    const watch = watchBody({ clock: engine.clock, origin, judged, exchange: res, end }, lines.codings)
    if (watch === 'not_searched') return answer(engine, res, watch, judged.requestId)
    exchange.watch = watch
  }
  if (req.headers.expect !== undefined) res.writeContinue()
  if (judged.injection?.needsBody) {
    const length = lines.length as number
    if (!roomFor(origin, judged, length, res)) return answer(engine, res, 'limit', judged.requestId)
    const collected = await collect(req, length)
    if (!collected) return answer(engine, res, 'bad_request', judged.requestId, 'the body is not as long as it says')
    exchange.body = injectBody(collected, judged.rules, req.method as string, lines, judged.injection, engine.clock)
  }
  if (judged.injection) tellSkipped(origin, judged)
  if (!engine.packages) return take(exchange)
  const keeping = await fromPackages(exchange)
  if (keeping === 'answered' || res.destroyed) return
  return take(keeping ? keepingExchange(exchange, keeping) : exchange)
}

/** On a connection that is there, or on a new one. */
const take = async (exchange: Exchange): Promise<void> => {
  const kept = exchange.origin.pool.take(exchange.key)
  if (kept) send(exchange, kept)
  else await connectAndSend(exchange)
}

const keepingExchange = (exchange: Exchange, keeping: Keeping): Exchange => {
  const { origin, headers } = keeping
  // Of its own: a connection that carried a sandbox's body may owe an answer that the sandbox has chosen.
  return {
    ...exchange,
    origin,
    key: `packages ${exchange.key}`,
    judged: { ...exchange.judged, headers },
    keeping,
    instead: exchange,
  }
}

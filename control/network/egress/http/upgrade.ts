/** WebSockets: the request is judged like any other; once the server agrees, bytes pass both ways. */
import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Transform } from 'node:stream'
import type { Engine } from '../engine.ts'
import { answer, headOf } from './forward.ts'
import { explicitOrigin } from './explicit.ts'
import { keepRequest } from './collect.ts'
import { judge, tellSkipped, type Judged } from './judge.ts'
import type { Origin } from './origin.ts'
import { readMessage, type RequestLines } from './request.ts'
import { responseHeaders, responseSink } from './response-sink.ts'
import type { ResponseHead } from './response-head.ts'
import { parseAbsolute } from './target.ts'
import { createUpstream } from './upstream.ts'
import { watchFrames, withoutPacking } from './watch.ts'
import type { OpenRequest } from '../under-way.ts'
import { endGently } from '../../../../shared/end-gently.ts'

export interface UpgradeAsked {
  readonly engine: Engine
  /** Undefined on the explicit proxy, where the target names it. */
  readonly origin: Origin | undefined
  readonly target: string | undefined
  readonly req: IncomingMessage
  readonly socket: Socket
  readonly head: Buffer
}

const placeOf = ({
  engine,
  origin,
  target,
  req,
  socket,
}: UpgradeAsked): { origin: Origin; target: string } | undefined => {
  if (origin) return target === undefined ? undefined : { origin, target }
  const tenant = engine.tenants.of(socket)
  const where = parseAbsolute(req.url as string)
  if (!tenant || where?.scheme !== 'http') return undefined
  return { origin: explicitOrigin(engine, tenant, where, socket), target: where.target }
}

/** Joins the two sides for as long as both are there. */
const join = (client: Socket, server: Socket, head: Buffer, rest: Buffer, watch: Transform | undefined): void => {
  for (const [one, other] of [
    [client, server],
    [server, client],
  ] as const) {
    // The event 'close' follows an error.
    one.on('error', () => {})
    one.once('close', () => endGently(other))
    one.setTimeout(0)
  }
  if (watch) watch.pipe(server)
  const said = watch ?? server
  if (head.length > 0) said.write(head)
  if (rest.length > 0) client.write(rest)
  client.pipe(said)
  server.pipe(client)
}

const switched = (engine: Engine, judged: Judged, head: ResponseHead): string => {
  const added = engine.names.requestId.flatMap(name => [name, judged.requestId])
  const headers = responseHeaders(head.headers, engine.names.withheld, added)
  let text = `HTTP/1.1 101 ${head.reason || 'Switching Protocols'}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`
  for (let i = 0; i < headers.length; i += 2) text += `${headers[i]}: ${headers[i + 1]}\r\n`
  return `${text}\r\n`
}

const send = async (
  asked: UpgradeAsked,
  res: ServerResponse,
  place: { origin: Origin; target: string },
  ready: { judged: Judged; lines: RequestLines; open: OpenRequest },
): Promise<void> => {
  const { engine, req, socket, head } = asked
  const { origin, target } = place
  const { judged, lines, open } = ready
  const connected = await origin.connect(judged.host)
  if (!connected.ok) return answer(engine, res, connected.reason, judged.requestId, connected.detail)
  if (socket.destroyed) return void connected.socket.destroy()
  const upstream = createUpstream(connected.socket, one => one.destroy())
  const sink = responseSink({
    req,
    res,
    upstream,
    added: engine.names.requestId.flatMap(name => [name, judged.requestId]),
    withheld: engine.names.withheld,
    failed: () => answer(engine, res, 'bad_answer', judged.requestId),
  })
  socket.once('close', upstream.destroy)
  const text = headOf({ engine, origin, req, res, judged, open, lines, target, key: '', body: undefined }, 0)
  open.sent = true
  upstream.send(
    text,
    {
      ...sink,
      upgraded(answered, server, rest) {
        res.detachSocket(socket)
        socket.write(switched(engine, judged, answered), 'latin1')
        const end = () => void socket.destroy()
        join(socket, server, head, rest, watchFrames({ clock: engine.clock, origin, judged, exchange: socket, end }))
      },
    },
    { toHead: false, bodiless: true },
  )
}

/** Passes an upgrade request on. Answers it as a plain request where it is not let through or the server declines. */
export const forwardUpgrade = async (asked: UpgradeAsked): Promise<void> => {
  const { engine, req, socket } = asked
  socket.on('error', () => socket.destroy())
  const res = new ServerResponse(req)
  res.sendDate = false
  res.shouldKeepAlive = false
  res.assignSocket(socket)
  res.once('finish', () => {
    res.detachSocket(socket)
    socket.end()
  })
  const place = placeOf(asked)
  const lines = readMessage(req, engine.names)
  if (!place) return answer(engine, res, 'host_mismatch', engine.requestId())
  if (typeof lines === 'string' || lines.length !== 0) return answer(engine, res, 'bad_request', engine.requestId())
  const { origin, target } = place
  const judged = judge(engine, origin, { method: req.method as string, target, lines, protocol: origin.scheme })
  if (!judged.ok) return answer(engine, res, judged.reason, judged.requestId)
  const open = keepRequest(origin, judged, socket, () => socket.destroy())
  if (!open) return answer(engine, res, 'limit', judged.requestId)
  tellSkipped(origin, judged)
  const headers = withoutPacking(origin, judged.headers)
  await send(asked, res, place, { judged: { ...judged, headers }, lines, open })
}

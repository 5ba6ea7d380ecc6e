/** The server of a dispatcher that reads ordinary requests itself, and answers them on the socket. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../clock.ts'
import { connectionClosed } from '../http/connection-closed.ts'
import type { Client, Dispatcher } from '../http/dispatch.ts'
import { pumpTo, send } from '../http/reply.ts'
import { serve, timing, type ApiServer } from '../http/server.ts'
import type { Log } from '../log.ts'
import { reply, SocketUpgrade, type Exchange, type Pump, type Reply } from '../route.ts'
import type { ChunkedBody } from './chunks.ts'
import { dater } from './dater.ts'
import type { Head } from './head.ts'
import { openLane } from './lane.ts'
import { beginChunks, writeReply } from './reply.ts'
import { TurnRequest } from './request.ts'
import { responseOf } from './response.ts'
import type { Turn } from './turn.ts'

/** What is longer is for node's server, from whose connections bodies can be taken over. */
const maxBodyBytes = 64 * 1024
/** With a longer head the connection is node's, which takes more of it. */
const maxHeadBytes = 64 * 1024

export interface LaneServing {
  readonly log: Log
  readonly clock: Pick<Clock, 'now' | 'every'>
  /** Called when a request begins; what it returns, when that is over. */
  readonly begun: () => () => void
}

interface Context extends LaneServing {
  readonly dispatcher: Dispatcher
  readonly server: ApiServer
  readonly date: () => string
}

const admits = ({ fields: { length, expects } }: Head): boolean => length <= maxBodyBytes && !expects

/** What node's answers read of their request. */
const messageOf = ({ request: { method, headers, socket } }: Turn): IncomingMessage =>
  ({ method, headers, socket, httpVersionMajor: 1, httpVersionMinor: 1 }) as unknown as IncomingMessage

/** An answer of node's, which pauses of the server know of. */
const nodeResponse = ({ server }: Context, turn: Turn): ServerResponse => {
  const response = responseOf(messageOf(turn), turn, timing.keepAliveTimeout, () => {})
  response.shouldKeepAlive &&= server.listening
  server.answering?.(response)
  return response
}

/** The upgrade was asked for in a form that nobody recognises. */
const notUpgraded = (): Reply => reply(400, { 'content-length': '0', connection: 'close' })

/** Who waits for the answer of a turn. Most handlers ask for no signal of its end, which is not for nothing. */
class TurnClient implements Client {
  private readonly turn: Turn
  private gone: AbortController | undefined

  constructor(turn: Turn) {
    this.turn = turn
  }

  get signal(): AbortSignal {
    if (!this.gone) {
      const gone = new AbortController()
      this.gone = gone
      this.turn.onOver(() => gone.abort(connectionClosed))
    }
    return this.gone.signal
  }
}

const answer = async (context: Context, turn: Turn): Promise<void> => {
  const { dispatcher, server, log, date } = context
  const client = new TurnClient(turn)
  turn.onOver(context.begun())
  let response: ServerResponse | ChunkedBody | undefined
  const exchange: Exchange = {
    isOver: () => turn.isOver,
    onOver: run => turn.onOver(run),
    // An answer that has not begun is still given: a call may be what ended its own credential.
    cut: () => void (response?.headersSent && turn.cut()),
  }
  const result = await dispatcher.dispatch(new TurnRequest(turn, exchange, maxBodyBytes), client)
  if (turn.isOver) return
  const answered = result instanceof SocketUpgrade ? notUpgraded() : result
  const writing = { date, keep: turn.keepAlive && server.listening }
  if (writeReply(turn, answered, writing)) return
  const chunked = typeof answered.body === 'function' ? beginChunks(turn, answered, writing) : undefined
  if (chunked) {
    response = chunked
    server.answering?.(chunked)
    return pumpTo(chunked, answered.body as Pump, client.signal, log)
  }
  response = nodeResponse(context, turn)
  await send(answered, response, client.signal, log)
}

/** As `serve`; whoever asks for something odd, or sends much, is served by node's server from then on. */
export const serveByLane = (dispatcher: Dispatcher, serving: LaneServing): ApiServer => {
  const { log, clock } = serving
  const server = serve(dispatcher, { log })
  const context: Context = { ...serving, dispatcher, server, date: dater(clock, 'Date') }
  openLane(server, {
    clock,
    maxHeadBytes,
    // Clients send theirs in one; node's server says at once what is wrong with anything else.
    maxHeadPieces: 1,
    admits,
    take(turn) {
      answer(context, turn).catch((error: unknown) => {
        log.error('request.broken', { error })
        turn.cut()
      })
      return true
    },
  })
  return server
}

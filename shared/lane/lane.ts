/**
 * A faster way in for ordinary requests in HTTP/1.1: read by our own parser, off the socket, and where a surface takes them
 * answered on it. Everything else is handed, with its first bytes, to the server that would have read it.
 */
import type { Socket } from 'node:net'
import type { Clock } from '../clock.ts'
import { timing, type ApiServer } from '../http/server.ts'
import { serveConnection, type Connection } from './connection.ts'
import type { Mover } from './mover.ts'
import type { AnswerHeader } from './turn.ts'
import type { LaneHandlers } from './state.ts'
import { passTo } from './messages.ts'

export interface LaneOptions {
  /** Answers a request, or says false: then it goes on as node's messages. */
  readonly take: LaneHandlers['take']
  /** Whether a request may be read here at all; without it each may. */
  readonly admits?: LaneHandlers['admits']
  readonly clock: Pick<Clock, 'every'>
  readonly maxHeadBytes: number
  /** With 1 the other reader has whatever is not a whole head: it also refuses at once what will never be one. */
  readonly maxHeadPieces: number
  /** A header of each answer that has not its own. */
  readonly always?: AnswerHeader | undefined
  /** Has the kernel move long bodies. */
  readonly mover?: Mover
}

const tickMs = 5_000
const limits = { head: timing.headersTimeout / tickMs, idle: timing.keepAliveTimeout / tickMs }

/** Has node's server read the connection from here on. */
const handTo = (server: ApiServer, read: (socket: Socket) => void, socket: Socket, bytes: Buffer): void => {
  socket.pause()
  socket.unshift(bytes)
  read.call(server, socket)
  socket.resume()
}

/** Whose first bytes are no request of HTTP/1.1: both sides have agreed to that before. */
const isOther = (socket: Socket): boolean => {
  const { alpnProtocol } = socket as { alpnProtocol?: string | false | null }
  return typeof alpnProtocol === 'string' && alpnProtocol !== 'http/1.1'
}

const entranceOf = (server: ApiServer): NonNullable<ApiServer['entrance']> => {
  const [read] = server.listeners('connection') as ((socket: Socket) => void)[]
  if (!read) throw new Error('the server reads no connections')
  return server.entrance ?? { event: 'connection', read }
}

/** Puts the lane in front of a server, with TLS or without. Call before it listens. */
export const openLane = (
  server: ApiServer,
  { take, admits, clock, maxHeadBytes, maxHeadPieces, always, mover }: LaneOptions,
): void => {
  const { event, read } = entranceOf(server)
  server.off(event, read)
  const open = new Set<Connection>()
  const handlers: LaneHandlers = {
    take,
    admits,
    pass: (head, turn) => passTo(server, head, turn),
    handOver: (socket, bytes) => handTo(server, read, socket, bytes),
    keeps: () => server.listening,
    maxHeadBytes,
    maxHeadPieces,
    always,
    mover,
  }
  server.on(event, (socket: Socket) => {
    if (isOther(socket)) return read.call(server, socket)
    const connection = serveConnection(socket, handlers, () => void open.delete(connection))
    open.add(connection)
  })
  const { closeIdleConnections, closeAllConnections } = server
  Object.assign(server, {
    closeIdleConnections() {
      for (const one of open) if (one.isIdle()) one.destroy()
      closeIdleConnections.call(server)
    },
    closeAllConnections() {
      for (const one of open) one.destroy()
      closeAllConnections.call(server)
    },
  })
  const stop = clock.every(tickMs, () => {
    for (const one of open) one.tick(limits)
  })
  server.once('close', stop)
}

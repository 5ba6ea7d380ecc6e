/** A request that was let in, sent on from socket to socket, and what comes of it. */
import type { Clock } from '../../../shared/clock.ts'
import type { Log } from '../../../shared/log.ts'
import type { Connections, Destination } from '../../channel/connections.ts'
import { dater } from '../../../shared/lane/dater.ts'
import type { Turn } from '../../../shared/lane/turn.ts'
import type { ErrorReply } from '../errors.ts'
import { upstreamFailed } from '../forward.ts'
import { cameByTls, requestHeaders, responseHeaders, type AnswerRules, type Withheld } from '../headers.ts'
import { ask } from './ask.ts'
import { clientSide, onceOut } from './client-side.ts'
import { sendReply } from './own-reply.ts'

export interface Onward {
  readonly turn: Turn
  readonly to: Destination
  readonly target: string
  readonly withheld: Withheld
  /** Headers that are added: names and values. */
  readonly identity: readonly string[]
  readonly answerRules: AnswerRules
  /** What becomes of the answer's headers: names and values. */
  readonly reshape?: (headers: readonly string[]) => readonly string[]
  /** Told of the status of the answer, as soon as there is one. */
  readonly begun?: (status: number) => void
  /** What is said where nothing of an answer came. */
  readonly failure: (error: unknown) => ErrorReply
}

/** Bodies up to so many bytes are written with their head. */
const smallBytes = 16 * 1024

const headText = (method: string, target: string, headers: readonly string[]): string => {
  let text = `${method} ${target} HTTP/1.1\r\n`
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${text}connection: keep-alive\r\n\r\n`
}

/** Resolves when it has ended, however: it is told on the turn. */
export type SendOn = (onward: Onward) => Promise<void>

export const sendsOn = ({ connections, clock }: { connections: Connections; clock: Clock }): SendOn => {
  const date = dater(clock, 'date')
  return async ({ turn, to, target, withheld, identity, answerRules, begun = () => {}, failure, reshape }) => {
    const { request } = turn
    const headers = requestHeaders(request.rawHeaders, {
      withheld,
      identity,
      remote: request.socket.remoteAddress ?? '',
      host: request.headers.host ?? '',
      isSecure: cameByTls(request.socket),
    })
    const side = clientSide(turn, date)
    const head = headText(request.method ?? 'GET', target, headers)
    const headersOf = ({ raw }: { raw: readonly string[] }): readonly string[] => {
      const kept = responseHeaders(raw, answerRules)
      return reshape ? reshape(kept) : kept
    }
    if (turn.expects) request.socket.write('HTTP/1.1 100 Continue\r\n\r\n')
    const entered = connections.enter(to, request)
    const leave = entered instanceof Promise ? await entered : entered
    turn.onOver(leave)
    // Whoever has gone while it waited wants nothing any more.
    if (turn.isOver) return
    const ending = await ask(connections, { turn, to, side, head, headersOf, begun }, turn.takeWhole(smallBytes))
    if (ending.how === 'answered') onceOut(side, () => turn.done(true))
    else if (ending.how === 'cut') turn.cut()
    else {
      const reply = failure(upstreamFailed(ending.error, to.port ?? to.address.port))
      begun(reply.status)
      sendReply(turn, reply, date)
    }
  }
}

/** Sees a turn through. A failure before anything of it was taken is told by the other way, in the same words. */
export const seeThrough = (turn: Turn, log: Log, work: Promise<void>): void => {
  work.catch((error: unknown) => {
    if (turn.isOver) return
    if (!turn.isTaken) return turn.pass()
    log.error('gateway.broken', { error })
    turn.cut()
  })
}

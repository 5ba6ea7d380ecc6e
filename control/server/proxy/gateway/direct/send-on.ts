/** A request that was let in, sent on from socket to socket, and what comes of it. */
import type { Log } from '../../../../../shared/log.ts'
import type { Turn } from '../../../../../shared/lane/turn.ts'
import type { ErrorReply } from '../errors.ts'
import { isUnsent, upstreamFailed } from '../../../../core/channel/unanswered.ts'
import type { Ending } from './answer-state.ts'
import { ask } from './ask.ts'
import { onceOut, type ClientSide } from './client-side.ts'
import { sendReply } from './own-reply.ts'
import type { Plan } from './plan.ts'

export interface Onward {
  readonly side: ClientSide
  readonly plan: Plan
  readonly target: string
  /** Fields of this request alone, each with the end of its line. */
  readonly more: string
  /** What is said where nothing of an answer came. */
  readonly failure: (error: unknown) => ErrorReply
  readonly log: Log
  /** Told that nothing of it was sent; resolves with whether it is seen to otherwise. */
  readonly unsent?: (body: Buffer | undefined) => Promise<boolean>
  /** It was begun with before: nothing of it was sent then. */
  readonly before?: Begun | undefined
}

/** A request of which nothing was sent. */
export interface Begun {
  readonly side: ClientSide
  readonly body: Buffer | undefined
}

/** Bodies up to so many bytes are written with their head. */
const smallBytes = 16 * 1024

/** Ours to mend: logged, and the client told by a connection that ends. */
const broken = (turn: Turn, log: Log, error: unknown): void => {
  log.error('gateway.broken', { error })
  turn.cut()
}

const ended = ({ side, plan, failure }: Onward, ending: Ending): void => {
  const { turn } = side
  if (ending.how === 'answered') return onceOut(side, () => turn.done(true))
  if (ending.how === 'cut') return turn.cut()
  const { to } = plan.link
  sendReply(side, failure(upstreamFailed(ending.error, to.port ?? to.address.port)))
}

const askWith = (onward: Onward, leave: () => void): void => {
  const { side, plan, target, more, log, before, failure } = onward
  const { turn } = side
  turn.onOver(leave)
  // Whoever has gone while it waited wants nothing any more.
  if (turn.isOver) return
  const body = before ? before.body : turn.takeWhole(smallBytes)
  const end = (ending: Ending): void => {
    try {
      ended(onward, ending)
    } catch (error) {
      broken(turn, log, error)
    }
  }
  ask({
    link: plan.link,
    side,
    head: `${turn.request.method ?? 'GET'} ${target} HTTP/1.1\r\n${plan.fields}${more}\r\n`,
    body,
    headersOf: plan.headersOf,
    settle(ending) {
      if (ending.how !== 'failed' || !onward.unsent || !isUnsent(ending.error)) return end(ending)
      onward.unsent(body).then(
        isSeenTo => isSeenTo || turn.isOver || end(ending),
        (error: unknown) => turn.isOver || sendReply(side, failure(error)),
      )
    },
  })
}

/** What becomes of it is told on the turn; a promise where it has to wait for others of its client first. */
export const sendOn = (onward: Onward): void | Promise<void> => {
  const { side, plan } = onward
  const { turn } = side
  if (turn.expects && !onward.before) turn.request.socket.write('HTTP/1.1 100 Continue\r\n\r\n')
  const entered = plan.link.enter()
  if (entered instanceof Promise) return entered.then(leave => askWith(onward, leave))
  askWith(onward, entered)
}

/** Sees a turn through. A failure before anything of it was taken is told by the other way, in the same words. */
export const seeThrough = (turn: Turn, log: Log, work: () => void | Promise<void>): void => {
  const failed = (error: unknown): void => {
    if (turn.isOver) return
    if (!turn.isTaken) return turn.pass()
    broken(turn, log, error)
  }
  try {
    work()?.catch(failed)
  } catch (error) {
    failed(error)
  }
}

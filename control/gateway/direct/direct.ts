/** Requests to workloads answered on their connection: let in as all are, sent on by our own hand. */
import { connectionClosed } from '../../../shared/http/connection-closed.ts'
import type { Log } from '../../../shared/log.ts'
import { dater } from '../../../shared/lane/dater.ts'
import type { Turn } from '../../../shared/lane/turn.ts'
import { isUp } from '../../reconcile/instance-life.ts'
import { startRelay } from '../../relay/addon.ts'
import type { WorkloadAddress } from '../address.ts'
import { enter } from '../admit.ts'
import { isTerminal } from '../credential.ts'
import { isDocumentation } from '../documentation.ts'
import type { ErrorReply } from '../errors.ts'
import { answerRules, holdFor, type Context } from '../passage.ts'
import { sendReply } from './own-reply.ts'
import { seeThrough, sendsOn, type SendOn } from './send-on.ts'

export interface DirectOptions {
  /** Told of the status of each answer. */
  readonly answered: (status: number) => void
  /** The answer to a failure. */
  readonly failure: (error: unknown, turn: Turn, address: WorkloadAddress) => ErrorReply
}

interface Direct extends Context, DirectOptions {
  readonly sendOn: SendOn
  readonly date: () => string
}

const never = new AbortController().signal

/** Ends when nobody waits for the answer any more. */
const goneSignal = (turn: Turn): AbortSignal => {
  const gone = new AbortController()
  turn.onOver(() => gone.abort(connectionClosed))
  return gone.signal
}

type Entered = Awaited<ReturnType<typeof enter>>

/** One that is still coming up is waited for; undefined when that was in vain, and said, or nobody waits any more. */
const holdSoon = async (direct: Direct, turn: Turn, address: WorkloadAddress, { resolved, credential }: Entered) => {
  const { instance } = resolved
  if (instance?.address && isUp(instance)) return holdFor(direct, resolved, [address, credential], never)
  try {
    return await holdFor(direct, resolved, [address, credential], goneSignal(turn))
  } catch (error) {
    if (turn.isOver) return void direct.answered(200)
    const reply = direct.failure(error, turn, address)
    direct.answered(reply.status)
    return void sendReply(turn, reply, direct.date)
  }
}

const run = async (direct: Direct, address: WorkloadAddress, turn: Turn): Promise<void> => {
  const { request } = turn
  const over = { isOver: () => turn.isOver, onOver: turn.onOver, cut: turn.cut }
  const entered = await enter(direct, address, request, over)
  const { credential, key } = entered
  const method = request.method ?? 'GET'
  const held = await holdSoon(direct, turn, address, entered)
  if (!held) return
  // What the host answers itself goes the other way.
  if (held.to.port === undefined && direct.answers?.takes(held.instance, method, credential.target)) {
    held.release()
    return turn.pass()
  }
  turn.onOver(held.release)
  if (turn.isOver) return
  let status = 0
  // One that was not answered counts as what node says of it: nothing is known yet.
  turn.onOver(() => direct.answered(status || 200))
  await direct.sendOn({
    turn,
    to: held.to,
    target: credential.target,
    withheld: credential.withheld,
    identity: direct.identityOf(key),
    answerRules: answerRules(direct, address, credential),
    begun(said) {
      status = said
    },
    failure: error => direct.failure(error, turn, address),
  })
}

/** Answers true for what it takes. Throws when the relay of long bodies cannot start. */
export const directly = (context: Context & { readonly log: Log }, options: DirectOptions) => {
  startRelay()
  const direct: Direct = { ...context, ...options, sendOn: sendsOn(context), date: dater(context.clock, 'date') }
  return (address: WorkloadAddress, turn: Turn): boolean => {
    const { request } = turn
    if (request.method === 'OPTIONS' || isTerminal(address) || isDocumentation(address)) return false
    seeThrough(turn, context.log, run(direct, address, turn))
    return true
  }
}

/** Requests to workloads answered on their connection: let in as all are, sent on by our own hand. */
import type { Log } from '../../../shared/log.ts'
import type { Turn } from '../../lane/turn.ts'
import { isUp } from '../../reconcile/instance-life.ts'
import { startRelay } from '../../relay/addon.ts'
import type { WorkloadAddress } from '../address.ts'
import { enter } from '../admit.ts'
import { isTerminal } from '../credential.ts'
import { isDocumentation } from '../documentation.ts'
import type { ErrorReply } from '../errors.ts'
import { answerRules, holdFor, type Context } from '../passage.ts'
import { seeThrough, sendsOn, type SendOn } from './send-on.ts'

export interface DirectOptions {
  /** Told of the status of each answer. */
  readonly answered: (status: number) => void
  /** The answer to a failure. */
  readonly failure: (error: unknown, turn: Turn, address: WorkloadAddress) => ErrorReply
}

interface Direct extends Context, DirectOptions {
  readonly sendOn: SendOn
}

const never = new AbortController().signal

const run = async (direct: Direct, address: WorkloadAddress, turn: Turn): Promise<void> => {
  const { request } = turn
  const over = { isOver: () => turn.isOver, onOver: turn.onOver, cut: turn.cut }
  const { resolved, credential, key } = await enter(direct, address, request, over)
  const { instance } = resolved
  const method = request.method ?? 'GET'
  // One that is still coming up is waited for by the other way, and so is what the host answers itself.
  if (!instance?.address || !isUp(instance)) return turn.pass()
  const held = await holdFor(direct, resolved, [address, credential], never)
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
  const direct: Direct = { ...context, ...options, sendOn: sendsOn(context) }
  return (address: WorkloadAddress, turn: Turn): boolean => {
    const { request } = turn
    if (request.method === 'OPTIONS' || isTerminal(address) || isDocumentation(address)) return false
    seeThrough(turn, context.log, run(direct, address, turn))
    return true
  }
}

/** Requests to previews answered on their connection: let in as all are, sent on by the gateway's own hand. */
import { seeThrough, sendsOn, type SendOn } from '../gateway/direct/send-on.ts'
import type { ErrorReply } from '../gateway/errors.ts'
import type { Turn } from '../../shared/lane/turn.ts'
import { isUp } from '../reconcile/instance-life.ts'
import type { PreviewAddress } from './address.ts'
import { destinationOf, reshaping } from './admit.ts'
import { answerRulesOf, cutAfterMs, enter, type Context } from './enter.ts'
import { machineOf } from './find.ts'
import { wantsPage } from './page.ts'

/** The answer to a failure. */
type Failure = (error: unknown, turn: Turn) => ErrorReply

const never = new AbortController().signal

const run = async (
  { context, sendOn, failure }: { readonly context: Context; readonly sendOn: SendOn; readonly failure: Failure },
  address: PreviewAddress,
  turn: Turn,
): Promise<void> => {
  const { request } = turn
  turn.onOver(context.clock.after(cutAfterMs, turn.cut))
  const admitted = await enter(context, address, request, {
    isOver: () => turn.isOver,
    onOver: turn.onOver,
    cut: turn.cut,
  })
  const { owner, instance } = await machineOf(context, admitted.preview)
  // One that is still coming up is waited for by the other way.
  if (!instance?.address || !isUp(instance)) return turn.pass()
  const { upstream, release } = await context.hold(owner, never, instance)
  turn.onOver(release)
  if (turn.isOver) return
  const { target, withheld, added: identity, preview } = admitted
  await sendOn({
    turn,
    to: destinationOf(upstream, preview, target),
    target,
    withheld,
    identity,
    answerRules: answerRulesOf(context, address),
    reshape: reshaping(admitted, address),
    failure: error => failure(error, turn),
  })
}

/** Answers true for what it takes: people who wait for a page are told of it by the other way. */
export const directly = (context: Context, failure: Failure) => {
  const sendOn = sendsOn(context)
  return (address: PreviewAddress, turn: Turn): boolean => {
    if (turn.request.method === 'OPTIONS' || wantsPage(turn.request)) return false
    seeThrough(turn, context.log, run({ context, sendOn, failure }, address, turn))
    return true
  }
}

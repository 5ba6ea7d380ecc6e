/** Requests to previews answered on their connection: let in as all are, sent on by the gateway's own hand. */
import { clientSide } from '../gateway/direct/client-side.ts'
import { planOf } from '../gateway/direct/plan.ts'
import { seeThrough, sendOn } from '../gateway/direct/send-on.ts'
import type { ErrorReply } from '../gateway/errors.ts'
import { dater } from '../../shared/lane/dater.ts'
import { TurnExchange } from '../../shared/lane/turn-exchange.ts'
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

interface Direct {
  readonly context: Context
  readonly date: () => string
  readonly failure: Failure
}

const run = async ({ context, date, failure }: Direct, address: PreviewAddress, turn: Turn): Promise<void> => {
  const { request } = turn
  turn.onOver(context.clock.after(cutAfterMs, () => turn.cut()))
  const admitted = await enter(context, address, request, new TurnExchange(turn))
  const { owner, instance } = await machineOf(context, admitted.preview)
  // One that is still coming up is waited for by the other way.
  if (!instance?.address || !isUp(instance)) return turn.pass()
  const { upstream, release } = await context.hold(owner, never, instance)
  turn.onOver(release)
  if (turn.isOver) return
  const { target, withheld, added: identity, preview } = admitted
  const plan = planOf(context.connections, turn, {
    to: destinationOf(upstream, preview, target),
    withheld,
    identity,
    answerRules: answerRulesOf(context, address),
    reshape: reshaping(admitted, address),
  })
  const side = clientSide(turn, date)
  await sendOn({ side, plan, target, more: '', log: context.log, failure: error => failure(error, turn) })
}

/** Answers true for what it takes: people who wait for a page are told of it by the other way. */
export const directly = (context: Context, failure: Failure) => {
  const direct: Direct = { context, date: dater(context.clock, 'date'), failure }
  return (address: PreviewAddress, turn: Turn): boolean => {
    if (turn.request.method === 'OPTIONS' || wantsPage(turn.request)) return false
    seeThrough(turn, context.log, () => run(direct, address, turn))
    return true
  }
}

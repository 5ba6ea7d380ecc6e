/** Requests to previews answered on their connection: let in as all are, sent on by the gateway's own hand. */
import { clientSide } from '../gateway/direct/client-side.ts'
import { createPlans, planOf, type Plan, type Plans } from '../gateway/direct/plan.ts'
import { seeThrough, sendOn } from '../gateway/direct/send-on.ts'
import type { ErrorReply } from '../gateway/errors.ts'
import { dater } from '../../../../shared/lane/dater.ts'
import { TurnExchange } from '../../../../shared/lane/turn-exchange.ts'
import type { Turn } from '../../../../shared/lane/turn.ts'
import { isUp } from '../../../core/transitions/instance-life.ts'
import type { Instance, Resource } from '../../../core/store/store.ts'
import type { PreviewAddress } from './address.ts'
import { destinationOf, reshaping, type Admitted } from './admit.ts'
import { answerRulesOf, cutAfterMs, enter, type Context } from './enter.ts'
import { isServed, machineOf } from './find.ts'
import { wantsPage } from './page.ts'

/** The answer to a failure. */
type Failure = (error: unknown, turn: Turn) => ErrorReply

const never = new AbortController().signal

/** What was found out of a request to a public preview: true of the next one with the same fields for as long as nothing is written and its time lasts. */
interface Known extends Pick<Admitted, 'right' | 'key'> {
  readonly moment: number
  readonly record: Resource
  readonly instance: Instance
  readonly plan: Plan
}

interface Direct {
  readonly context: Context
  readonly date: () => string
  readonly failure: Failure
  readonly plans: Plans<Known>
}

/** The machine is held until the turn is over. */
const goOn = ({ context, date, failure }: Direct, turn: Turn, plan: Plan, target: string): void | Promise<void> =>
  sendOn({
    side: clientSide(turn, date),
    plan,
    target,
    more: '',
    log: context.log,
    failure: error => failure(error, turn),
  })

const cutLater = ({ context }: Direct, turn: Turn): void =>
  turn.onOver(context.clock.after(cutAfterMs, () => turn.cut()))

/** A query may hold a token; and which domains there are is not told by what is written alone. */
const isPlain = ({ custom, target }: PreviewAddress): boolean => !custom && !target.includes('?')

/** Another one like one that was let in a moment ago; false when it has to be looked at anew. */
const goAgain = (direct: Direct, address: PreviewAddress, turn: Turn): boolean => {
  const { context, plans } = direct
  const known = isPlain(address) ? plans.of(turn, address.base) : undefined
  if (!known || known.moment !== context.store.moment() || !isServed(context, known.record)) return false
  if (known.key && !context.keys.useAgain(known.key)) return false
  const release = context.holdNow(known.instance)
  if (!release) return false
  turn.onOver(release)
  cutLater(direct, turn)
  context.standing.watch(known.right, new TurnExchange(turn))
  seeThrough(turn, context.log, () => goOn(direct, turn, known.plan, address.target))
  return true
}

const run = async (direct: Direct, address: PreviewAddress, turn: Turn): Promise<void> => {
  const { context, plans } = direct
  // Before the first look: whatever is written from here on makes what is found out old.
  const moment = context.store.moment()
  cutLater(direct, turn)
  const admitted = await enter(context, address, turn.request, new TurnExchange(turn))
  const { owner, instance } = await machineOf(context, admitted.preview)
  // One that is still coming up is waited for by the other way.
  if (!instance?.address || !isUp(instance)) return turn.pass()
  const { upstream, release } = await context.hold(owner, never, instance)
  turn.onOver(release)
  if (turn.isOver) return
  const { target, withheld, added: identity, preview, right, key } = admitted
  const plan = planOf(context.connections, turn, {
    to: destinationOf(upstream, preview, target),
    withheld,
    identity,
    answerRules: answerRulesOf(context, address),
    reshape: reshaping(admitted, address),
  })
  if (preview.isPublic && isPlain(address))
    plans.keep(turn, address.base, { moment, right, key, record: preview.record, instance, plan })
  await goOn(direct, turn, plan, target)
}

/** Answers true for what it takes: people who wait for a page are told of it by the other way. */
export const directly = (context: Context, failure: Failure) => {
  const direct: Direct = { context, date: dater(context.clock, 'date'), failure, plans: createPlans() }
  return (address: PreviewAddress, turn: Turn): boolean => {
    if (turn.request.method === 'OPTIONS' || wantsPage(turn.request)) return false
    if (!goAgain(direct, address, turn)) seeThrough(turn, context.log, () => run(direct, address, turn))
    return true
  }
}

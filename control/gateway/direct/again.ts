/** Requests that were let in, sent on; and those that are like one that was, without another look. */
import type { Log } from '../../../shared/log.ts'
import { TurnExchange } from '../../../shared/lane/turn-exchange.ts'
import type { Turn } from '../../../shared/lane/turn.ts'
import type { Reach } from '../../instances/reach.ts'
import type { ApiKey, Instance, Store } from '../../store/store.ts'
import type { WorkloadAddress } from '../address.ts'
import type { Entered } from '../admit.ts'
import { withoutKey } from '../credential.ts'
import type { ErrorReply } from '../errors.ts'
import { requestIdHeader } from '../identity.ts'
import type { Context } from '../passage.ts'
import { clientSide } from './client-side.ts'
import type { Plan, Plans } from './plan.ts'
import { seeThrough, sendOn } from './send-on.ts'

export interface DirectContext extends Context {
  readonly log: Log
  readonly store: Pick<Store, 'moment'>
  readonly holdNow: Reach['holdNow']
}

export interface DirectOptions {
  /** Told of the status of each answer. */
  readonly answered: (status: number) => void
  /** The answer to a failure. */
  readonly failure: (error: unknown, turn: Turn, address: WorkloadAddress) => ErrorReply
}

/** What was found out of a request that was let in: true of the next one with the same fields for as long as nothing is written and the key's time lasts. */
interface Known extends Pick<Entered, 'right'> {
  readonly moment: number
  readonly key: ApiKey
  /** The key as it was sent. */
  readonly sent: string
  readonly instance: Instance
  readonly plan: Plan
}

export interface Direct extends DirectContext, DirectOptions {
  readonly date: () => string
  readonly plans: Plans<Known>
}

/** What the host answers itself goes the other way. */
export const isOurs = (
  { answers }: Direct,
  { plan, instance }: Pick<Known, 'plan' | 'instance'>,
  method: string,
  target: string,
) => plan.link.to.port === undefined && answers !== undefined && answers.takes(instance, method, target)

export interface Passing {
  readonly turn: Turn
  readonly address: WorkloadAddress
  readonly plan: Plan
  readonly target: string
}

/** Sends it on; the machine is held. */
export const goOn = (direct: Direct, { turn, address, plan, target }: Passing): void | Promise<void> => {
  const { log, date, ids } = direct
  const side = clientSide(turn, date)
  // One that was not answered counts as what node says of it: nothing is known yet.
  turn.onOver(() => direct.answered(side.status || 200))
  const more = `${requestIdHeader}: ${ids.uuid()}\r\n`
  return sendOn({ side, plan, target, more, log, failure: error => direct.failure(error, turn, address) })
}

/** Another one like one that was let in a moment ago; false when it has to be looked at anew. */
export const goAgain = (direct: Direct, address: WorkloadAddress, turn: Turn): boolean => {
  const known = direct.plans.of(turn, address.base)

  if (!known || known.moment !== direct.store.moment() || !direct.keys.useAgain(known.key)) return false
  const { plan, instance, right, sent } = known
  const target = withoutKey(address.target, sent)
  if (isOurs(direct, known, turn.request.method ?? 'GET', target)) return false
  const release = direct.holdNow(instance)
  if (!release) return false
  turn.onOver(release)
  direct.standing.watch(right, new TurnExchange(turn))
  seeThrough(turn, direct.log, () => goOn(direct, { turn, address, plan, target }))
  return true
}

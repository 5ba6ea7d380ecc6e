/** Requests that were let in, sent on; and those that are like one that was, without another look. */
import { connectionClosed } from '../../../../../shared/http/connection-closed.ts'
import type { Log } from '../../../../../shared/log.ts'
import { TurnExchange } from '../../../../../shared/lane/turn-exchange.ts'
import type { Turn } from '../../../../../shared/lane/turn.ts'
import type { Destination } from '../../../../core/channel/connections.ts'
import type { Reach } from '../../../../core/machines/reach.ts'
import type { ApiKey, Instance, Store } from '../../../../core/store/store.ts'
import type { WorkloadAddress } from '../address.ts'
import type { Entered } from '../admit.ts'
import { withoutKey, type WorkloadCredential } from '../credential.ts'
import type { ErrorReply } from '../errors.ts'
import { requestIdHeader } from '../identity.ts'
import { answerRules, type Context } from '../passage.ts'
import type { Admissions } from './admissions.ts'
import { clientSide } from './client-side.ts'
import { planOf, type Plan, type Plans } from './plan.ts'
import { sendOn, type Begun } from './send-on.ts'

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

/** What was found out when a key was let in somewhere: true of the next request there for as long as nothing is written and the key's time lasts. */
export interface Admission extends Pick<Entered, 'right'> {
  readonly moment: number
  readonly key: ApiKey
  readonly instance: Instance
  readonly to: Destination
}

export interface Planned {
  readonly admission: Admission
  /** The key as it was sent. */
  readonly sent: string
  readonly plan: Plan
}

export interface Direct extends DirectContext, DirectOptions {
  readonly date: () => string
  readonly admissions: Admissions
  readonly plans: Plans<Planned>
}

/** Ends when nobody waits for the answer any more. */
export const goneSignal = (turn: Turn): AbortSignal => {
  const gone = new AbortController()
  turn.onOver(() => gone.abort(connectionClosed))
  return gone.signal
}

/** What the host answers itself goes the other way. */
export const isOurs = (
  { answers }: Direct,
  { to, instance }: Pick<Admission, 'to' | 'instance'>,
  turn: Turn,
  target: string,
): boolean =>
  to.port === undefined &&
  answers !== undefined &&
  answers.takes(instance, turn.request.method ?? 'GET', target, most => turn.peekWhole(most))

export interface Passing {
  readonly turn: Turn
  readonly address: WorkloadAddress
  readonly plan: Plan
  readonly target: string
  readonly instance: Instance
  /** What was begun with, where the machine had ended before it took anything. */
  readonly before?: Begun | undefined
}

/** Sends it on; the machine is held. */
export const goOn = (
  direct: Direct,
  passing: Passing,
  anew: (turn: Turn, address: WorkloadAddress, before: Begun) => Promise<void>,
): void | Promise<void> => {
  const { turn, address, plan, target, instance, before } = passing
  const { log, date, ids } = direct
  const side = before?.side ?? clientSide(turn, date)
  // One that was not answered counts as what node says of it: nothing is known yet.
  if (!before) turn.onOver(() => direct.answered(side.status || 200))
  const more = `${requestIdHeader}: ${ids.uuid()}\r\n`
  const failure = (error: unknown) => direct.failure(error, turn, address)
  const unsent = async (body: Buffer | undefined): Promise<boolean> => {
    if (before || !(await direct.revive(instance, goneSignal(turn)))) return false
    if (!turn.isOver) await anew(turn, address, { side, body })
    return true
  }
  return sendOn({ side, plan, target, more, log, failure, unsent, before })
}

/** Of a key that came in a header, from which all else follows: passes are looked at by the method, too. */
export const sentKey = ({ claim, inAddress }: WorkloadCredential): string | undefined =>
  'key' in claim && !inAddress ? claim.key : undefined

type Asking = Pick<Passing, 'turn' | 'address'>

export const planFor = (
  direct: Direct,
  { turn, address }: Asking,
  credential: WorkloadCredential,
  { to, key }: Pick<Admission, 'to' | 'key'>,
): Plan =>
  planOf(direct.connections, turn, {
    to,
    withheld: credential.withheld,
    identity: direct.identityOf(key),
    answerRules: answerRules(direct, address, credential),
  })

/** One whose key was let in there by a request with other fields, or on another connection. */
const planAnew = (direct: Direct, { turn, address }: Asking, moment: number): Planned | undefined => {
  const credential = direct.credentialOf(turn.request, address)
  const sent = sentKey(credential)
  const admission = sent === undefined ? undefined : direct.admissions.of(sent, turn, address)
  if (sent === undefined || admission?.moment !== moment) return undefined
  return { admission, sent, plan: planFor(direct, { turn, address }, credential, admission) }
}

/** What a request like one that was let in a moment ago goes on with, its machine held; undefined when it has to be looked at anew. */
export const again = (direct: Direct, address: WorkloadAddress, turn: Turn): Passing | undefined => {
  const moment = direct.store.moment()
  const before = direct.plans.of(turn, address.base)
  const planned = before?.admission.moment === moment ? before : planAnew(direct, { turn, address }, moment)
  if (!planned || !direct.keys.useAgain(planned.admission.key)) return undefined
  const { admission, plan, sent } = planned
  const target = withoutKey(address.target, sent)
  if (isOurs(direct, admission, turn, target)) return undefined
  const release = direct.holdNow(admission.instance)
  if (!release) return undefined
  turn.onOver(release)
  if (planned !== before) {
    direct.admitted(turn.request.socket)
    direct.plans.keep(turn, address.base, planned)
  }
  direct.standing.watch(admission.right, new TurnExchange(turn))
  return { turn, address, plan, target, instance: admission.instance }
}

/** Requests to workloads answered on their connection: let in as all are, sent on by our own hand. */
import { dater } from '../../../../../shared/lane/dater.ts'
import { TurnExchange } from '../../../../../shared/lane/turn-exchange.ts'
import type { Turn } from '../../../../../shared/lane/turn.ts'
import { isUp } from '../../../../core/transitions/instance-life.ts'
import { startRelay } from '../../../../base/relay/addon.ts'
import type { WorkloadAddress } from '../address.ts'
import { enter, type Entered } from '../admit.ts'
import { isTerminal } from '../credential.ts'
import { isDocumentation } from '../documentation.ts'
import { holdFor } from '../passage.ts'
import {
  again,
  goneSignal,
  goOn,
  isOurs,
  planFor,
  sentKey,
  type Admission,
  type Direct,
  type DirectContext,
  type DirectOptions,
} from './again.ts'
import { createAdmissions } from './admissions.ts'
import { clientSide } from './client-side.ts'
import { sendReply } from './own-reply.ts'
import { createPlans } from './plan.ts'
import { seeThrough, type Begun } from './send-on.ts'

const never = new AbortController().signal

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
    return void sendReply(clientSide(turn, direct.date), reply)
  }
}

const run = async (direct: Direct, address: WorkloadAddress, turn: Turn, before?: Begun): Promise<void> => {
  const { request } = turn
  // Before the first look: whatever is written from here on makes what is found out old.
  const moment = direct.store.moment()
  const entered = await enter(direct, address, request, new TurnExchange(turn))
  const { credential, key, right } = entered
  const held = await holdSoon(direct, turn, address, entered)
  if (!held) return
  const { instance, to } = held
  // One that is sent again was not ours when its body could be looked at.
  if (!before && isOurs(direct, { to, instance }, turn, credential.target)) {
    held.release()
    return turn.pass()
  }
  const admission: Admission = { moment, key, right, instance, to }
  const plan = planFor(direct, { turn, address }, credential, admission)
  const sent = sentKey(credential)
  if (sent !== undefined) {
    direct.plans.keep(turn, address.base, { admission, sent, plan })
    direct.admissions.keep(sent, turn, address, admission)
  }
  turn.onOver(held.release)
  if (turn.isOver) return
  await goOn(direct, { turn, address, plan, target: credential.target, instance, before }, anewBy(direct))
}

/** Looks at it from the beginning: who may, and where its machine is now. */
const anewBy = (direct: Direct) => (turn: Turn, address: WorkloadAddress, before: Begun) =>
  run(direct, address, turn, before)

/** Answers true for what it takes. Throws when the relay of long bodies cannot start. */
export const directly = (context: DirectContext, options: DirectOptions) => {
  startRelay()
  const date = dater(context.clock, 'date')
  const direct: Direct = { ...context, ...options, date, plans: createPlans(), admissions: createAdmissions() }
  return (address: WorkloadAddress, turn: Turn): boolean => {
    const { request } = turn
    if (request.method === 'OPTIONS' || isTerminal(address) || isDocumentation(address)) return false
    seeThrough(turn, context.log, () => {
      const passing = again(direct, address, turn)
      return passing ? goOn(direct, passing, anewBy(direct)) : run(direct, address, turn)
    })
    return true
  }
}

/** Requests to workloads answered on their connection: let in as all are, sent on by our own hand. */
import { connectionClosed } from '../../../shared/http/connection-closed.ts'
import type { Log } from '../../../shared/log.ts'
import type { Destination } from '../../channel/connections.ts'
import type { Turn } from '../../lane/turn.ts'
import { isUp } from '../../reconcile/instance-life.ts'
import { startRelay } from '../../relay/addon.ts'
import type { WorkloadAddress } from '../address.ts'
import { enter } from '../admit.ts'
import { isTerminal } from '../credential.ts'
import { isDocumentation } from '../documentation.ts'
import type { ErrorReply } from '../errors.ts'
import { upstreamFailed } from '../forward.ts'
import { requestHeaders, responseHeaders } from '../headers.ts'
import { answerRules, holdFor, type Context } from '../passage.ts'
import { ask, type Call } from './ask.ts'
import { clientSide, dater, onceOut } from './client-side.ts'
import type { Ending } from './answer-state.ts'
import { sendReply } from './own-reply.ts'

export interface DirectOptions {
  /** Told of the status of each answer. */
  readonly answered: (status: number) => void
  /** The answer to a failure. */
  readonly failure: (error: unknown, turn: Turn, address: WorkloadAddress) => ErrorReply
}

interface Direct extends Context, DirectOptions {
  readonly date: () => string
}

/** Bodies up to so many bytes are written with their head. */
const smallBytes = 16 * 1024

const never = new AbortController().signal

/** Ends when nobody waits for the answer any more. */
const goneSignal = (turn: Turn): AbortSignal => {
  const gone = new AbortController()
  turn.onOver(() => gone.abort(connectionClosed))
  return gone.signal
}

const headText = (method: string, target: string, headers: readonly string[]): string => {
  let text = `${method} ${target} HTTP/1.1\r\n`
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${text}connection: keep-alive\r\n\r\n`
}

/** Answers with the status that it returns. */
const refuse = (direct: Direct, error: unknown, turn: Turn, address: WorkloadAddress): number => {
  const reply = direct.failure(error, turn, address)
  sendReply(turn, reply, direct.date)
  return reply.status
}

const end = (direct: Direct, ending: Ending, call: Call, address: WorkloadAddress): void => {
  const { turn, to, side } = call
  if (ending.how === 'answered') onceOut(side, () => turn.done(true))
  else if (ending.how === 'cut') turn.cut()
  else call.begun(refuse(direct, upstreamFailed(ending.error, to.port ?? to.address.port), turn, address))
}

type Entered = Awaited<ReturnType<typeof enter>>

const callOf = (
  direct: Direct,
  address: WorkloadAddress,
  turn: Turn,
  { credential, key }: Entered,
  to: Destination,
) => {
  const { request } = turn
  const { target, withheld } = credential
  const headers = requestHeaders(request.rawHeaders, {
    withheld,
    identity: direct.identityOf(key),
    remote: request.socket.remoteAddress ?? '',
    host: request.headers.host ?? '',
    isSecure: false,
  })
  const rules = answerRules(direct, address, credential)
  let status = 0
  // One that was not answered counts as what node says of it: nothing is known yet.
  turn.onOver(() => direct.answered(status || 200))
  const call: Call = {
    turn,
    to,
    side: clientSide(turn, direct.date),
    head: headText(request.method ?? 'GET', target, headers),
    headersOf: ({ raw }) => responseHeaders(raw, rules),
    begun(said) {
      status = said
    },
  }
  return call
}

/** One that is still coming up is waited for; undefined when that was in vain, and said, or nobody waits any more. */
const holdSoon = async (direct: Direct, turn: Turn, address: WorkloadAddress, { resolved, credential }: Entered) => {
  const { instance } = resolved
  if (instance?.address && isUp(instance)) return holdFor(direct, resolved, [address, credential], never)
  try {
    return await holdFor(direct, resolved, [address, credential], goneSignal(turn))
  } catch (error) {
    direct.answered(turn.isOver ? 200 : refuse(direct, error, turn, address))
    return undefined
  }
}

const run = async (direct: Direct, address: WorkloadAddress, turn: Turn): Promise<void> => {
  const { request } = turn
  const over = { isOver: () => turn.isOver, onOver: turn.onOver, cut: turn.cut }
  const entered = await enter(direct, address, request, over)
  const { credential } = entered
  const method = request.method ?? 'GET'
  const held = await holdSoon(direct, turn, address, entered)
  if (!held) return
  if (held.to.port === undefined && direct.answers?.takes(held.instance, method, credential.target)) {
    held.release()
    return turn.pass()
  }
  turn.onOver(held.release)
  if (turn.isOver) return
  const call = callOf(direct, address, turn, entered, held.to)
  if (turn.expects) request.socket.write('HTTP/1.1 100 Continue\r\n\r\n')
  end(direct, await ask(direct.connections, call, turn.takeWhole(smallBytes)), call, address)
}

/** Answers true for what it takes. Throws when the relay of long bodies cannot start. */
export const directly = (context: Context & { readonly log: Log }, options: DirectOptions) => {
  startRelay()
  const { log, clock } = context
  const direct: Direct = { ...context, ...options, date: dater(clock) }
  return (address: WorkloadAddress, turn: Turn): boolean => {
    const { request } = turn
    if (request.method === 'OPTIONS' || isTerminal(address) || isDocumentation(address)) return false
    run(direct, address, turn).catch((error: unknown) => {
      if (turn.isOver) return
      // Why not is told by the other way, in the same words.
      if (!turn.isTaken) return turn.pass()
      log.error('gateway.broken', { error })
      turn.cut()
    })
    return true
  }
}

/** One request's way to its workload: who asks, for which, once it is up, through to it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../../shared/clock.ts'
import { connectionClosed } from '../../../../shared/http/connection-closed.ts'
import { exchangeOf } from '../../../../shared/http/exchange.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Held, Reach } from '../../../core/machines/reach.ts'
import type { Connections, Destination } from '../../../core/channel/connections.ts'
import type { Address } from '../../../core/store/store.ts'
import { fail } from '../../../../shared/errors.ts'
import type { WorkloadAddress } from './address.ts'
import { enter, type EnterContext } from './admit.ts'
import type { Answers } from './answers.ts'
import type { WorkloadCredential } from './credential.ts'
import { runHandled, type Handlers } from './handled.ts'
import { answerDocumentation, asksForDocumentation, leadToDocumentation, type Documenting } from './documentation.ts'
import type { Forwarder } from './forward.ts'
import type { AnswerRules } from './headers.ts'
import { requestIdHeader, type IdentityWriter } from './identity.ts'
import type { Logins } from './logins.ts'
import type { Records, Resolved } from './resolve.ts'
import { splice } from './splice.ts'
import { answerTerminalPage, asksForTerminalPage } from './terminal.ts'
import { isUnsent } from '../../../core/channel/unanswered.ts'
import type { Revive } from './unsent.ts'

export interface Context extends EnterContext, Documenting {
  readonly hold: Reach['hold']
  readonly revive: Revive
  readonly forwarder: Forwarder
  readonly answers?: Answers | undefined
  readonly connections: Connections
  readonly clock: Clock
  readonly identityOf: IdentityWriter
  /** Lower-case prefixes of headers that only we send. */
  readonly ourHeaders: readonly string[]
  readonly logins: Logins
  readonly ids: Pick<Ids, 'secret' | 'uuid'>
  readonly records: Records
  /** By kind: what answers in place of machines. */
  readonly handlers: Handlers
  /** Lower-case names of headers that may carry our credential. */
  readonly credentialHeaders: readonly string[]
}

/** What becomes of the answers of a workload. */
export const answerRules = (
  { ourHeaders }: Context,
  { base, form }: WorkloadAddress,
  { withheld }: WorkloadCredential,
): AnswerRules => ({ base, ours: ourHeaders, shared: form === 'path', cookies: withheld.cookies })

/**
 * The daemon's port means the daemon, however it is addressed. The port of the channel means nobody: who came that way
 * would have no role, and the host's own proof is not for clients.
 */
const destinationOf = (upstream: Address, { port }: WorkloadAddress, { claim }: WorkloadCredential): Destination => {
  if (port === upstream.port && 'passes' in claim)
    throw fail('forbidden', { reason: 'a login leads to applications and the terminal, not to the API of the sandbox' })
  if (port === undefined || port === upstream.port) return { address: upstream }
  if (port === upstream.channel?.port)
    throw fail('invalid_argument', { field: 'port', reason: `${port} of a sandbox is the host's own` })
  return { address: upstream, port }
}

/** A machine that is awake until `release`, and what in it is meant. */
export const holdFor = async (
  { hold }: Context,
  { owner, instance }: Resolved,
  [address, credential]: readonly [WorkloadAddress, WorkloadCredential],
  signal: AbortSignal,
): Promise<Held & { readonly to: Destination }> => {
  const held = await hold(owner, signal, instance)
  try {
    return { ...held, to: destinationOf(held.upstream, address, credential) }
  } catch (error) {
    held.release()
    throw error
  }
}

/** Runs `pass` with the machine held; once more with the next one where the first has ended before it took anything. */
const passTo = async (
  context: Context,
  { resolved, address, credential, signal }: Passing,
  pass: (held: Held & { readonly to: Destination }) => Promise<void>,
): Promise<void> => {
  const held = await holdFor(context, resolved, [address, credential], signal)
  try {
    return await pass(held)
  } catch (error) {
    if (!isUnsent(error) || !(await context.revive(held.instance, signal))) throw error
  } finally {
    held.release()
  }
  const { instance: _gone, ...owned } = resolved
  const next = await holdFor(context, owned, [address, credential], signal)
  await pass(next).finally(next.release)
}

interface Passing {
  readonly resolved: Resolved
  readonly address: WorkloadAddress
  readonly credential: WorkloadCredential
  readonly signal: AbortSignal
}

/** Resolves when the answer is delivered. */
export const run = async (
  context: Context,
  address: WorkloadAddress,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const { forwarder, answers, handlers } = context
  const handler = handlers.get(address.kind)
  if (handler) return runHandled(context, handler, address, { request, response })
  const gone = new AbortController()
  // Most are answered: then nobody listens, and to tell nobody costs too.
  response.once('close', () => void (response.writableFinished || gone.abort(connectionClosed)))
  const entering = () => enter(context, address, request, exchangeOf(response))
  if (asksForDocumentation(address, request))
    return answerDocumentation(context, address, { request, response, enter: entering })
  const entered = await entering()
  if (asksForTerminalPage(address, request)) return answerTerminalPage(context, address, entered, { request, response })
  const { resolved, credential, key } = entered
  const { target, withheld } = credential
  const identity = [...context.identityOf(key), requestIdHeader, context.ids.uuid()]
  await passTo(context, { resolved, address, credential, signal: gone.signal }, async ({ instance, upstream, to }) => {
    if (leadToDocumentation(address, response, upstream.port)) return
    if (to.port === undefined && answers?.takes(instance, request.method ?? 'GET', target))
      if ((await answers.answer({ instance, target, upstream, request, response })) !== 'pass') return
    const rules = answerRules(context, address, credential)
    await forwarder.forward({ to, target, answerRules: rules, request, response, withheld, identity })
  })
}

/** Resolves when either side has ended the connection. */
export const runUpgrade = async (
  context: Context,
  address: WorkloadAddress,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> => {
  if (context.handlers.has(address.kind))
    throw fail('invalid_argument', { field: 'Upgrade', reason: 'is not spoken here' })
  const gone = new AbortController()
  socket.once('close', () => gone.abort(connectionClosed))
  const { resolved, credential, key } = await enter(context, address, request, exchangeOf(socket))
  const { owner } = resolved
  await passTo(context, { resolved, address, credential, signal: gone.signal }, ({ release, to }) =>
    splice(
      {
        to,
        target: credential.target,
        request,
        socket,
        head,
        withheld: credential.withheld,
        answerRules: answerRules(context, address, credential),
        identity: [...context.identityOf(key), requestIdHeader, context.ids.uuid()],
        release,
        hold: async () => (await context.hold(owner, gone.signal)).release,
      },
      context,
    ),
  )
}

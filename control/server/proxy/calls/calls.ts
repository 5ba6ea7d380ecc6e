/** Calls of servers by their addresses: who calls, which record, which of its machines, and through to it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '../../../../shared/clock.ts'
import { isError } from '../../../../shared/errors.ts'
import { connectionClosed } from '../../../../shared/http/connection-closed.ts'
import { exchangeOf } from '../../../../shared/http/exchange.ts'
import { endRaw } from '../../../../shared/http/raw-answer.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Log } from '../../../../shared/log.ts'
import type { Standing } from '../../../core/access/standing.ts'
import type { Connections } from '../../../core/channel/connections.ts'
import { byHost, byPath, type AddressForm, type WorkloadAddress } from '../gateway/address.ts'
import { errorReply, sendError, shown, type ErrorReply } from '../gateway/errors.ts'
import type { Forwarder } from '../gateway/forward.ts'
import { preflight } from '../gateway/gateway.ts'
import type { AnswerRules } from '../gateway/headers.ts'
import { requestIdHeader } from '../gateway/identity.ts'
import { splice } from '../gateway/splice.ts'
import { headerOf } from '../../../base/wire/names.ts'
import type { AsyncCalls } from '../../../core/workloads/async/calls.ts'
import type { Balancer, Seat } from '../../../core/workloads/balance.ts'
import type { StickyKey } from '../../../core/workloads/sticky.ts'
import type { Heal } from '../../../core/workloads/heal.ts'
import { accessTo, type Access, type AccessDeps, type Letting } from './access.ts'
import { acknowledge, laterOf } from './acknowledge.ts'
import type { Watcher } from './bounds.ts'
import { find, type FindDeps } from './find.ts'

export interface CallsOptions {
  /** How servers are addressed, a form for each kind. */
  readonly forms: readonly AddressForm[]
  readonly regions: readonly string[]
  /** Lower-case names of the header that carries the id of a conversation. */
  readonly threadHeaders: readonly string[]
  /** Name of the cookie that keeps a caller with a revision. */
  readonly stickyCookie: string
  /** The words in our headers: `Svc`. */
  readonly words: readonly string[]
  /** Lower-case prefixes of headers that only we send. */
  readonly ourHeaders: readonly string[]
}

export interface CallsDeps extends FindDeps, AccessDeps {
  readonly balancer: Balancer
  readonly heal: Heal
  readonly later: Pick<AsyncCalls, 'accept'>
  readonly watcher: Watcher
  readonly forwarder: Forwarder
  readonly connections: Connections
  readonly standing: Standing
  /** Told of each connection that has brought a valid credential. */
  readonly admitted: (connection: object) => void
  /** Told of the status of each answer. */
  readonly answered: (status: number) => void
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
}

export interface Calls {
  /** The server that a request is for, or undefined when it is not for one. */
  addressOf(request: Pick<IncomingMessage, 'url' | 'headers'>): WorkloadAddress | undefined
  handle(address: WorkloadAddress, request: IncomingMessage, response: ServerResponse): void
  upgrade(address: WorkloadAddress, request: IncomingMessage, socket: Duplex, head: Buffer): void
}

interface Context extends CallsDeps, CallsOptions {}

const answerRules = ({ ourHeaders }: Context, { base, form }: WorkloadAddress, { withheld }: Access): AnswerRules => ({
  base,
  ours: ourHeaders,
  shared: form === 'path',
  cookies: withheld.cookies,
})

interface Entered {
  readonly seat: Seat
  /** What becomes of the answer's headers: a caller without a thread is known again by a cookie. */
  readonly reshape: (headers: readonly string[]) => readonly string[]
}

/** Which revision a cookie of ours names. */
const revisionIn = ({ headers }: IncomingMessage, name: string): string | undefined =>
  headers.cookie
    ?.split(';')
    .map(one => one.trim())
    .find(one => one.startsWith(`${name}=`))
    ?.slice(name.length + 1)

const keyOf = ({ threadHeaders, stickyCookie }: Context, request: IncomingMessage): StickyKey => ({
  thread: headerOf(request.headers, threadHeaders),
  revision: revisionIn(request, stickyCookie),
})

/** Lets the call in, for as long as its credential is good. */
const letIn = async (
  context: Context,
  address: WorkloadAddress,
  request: IncomingMessage,
  exchange: ReturnType<typeof exchangeOf>,
): Promise<Letting> => {
  const access = await accessTo(context, address, request, () => find(context, address))
  const { right } = access
  if (right) {
    context.admitted(request.socket)
    context.standing.watch(right, exchange)
  }
  return access
}

/** Gives it a machine. */
const enter = async (
  context: Context,
  address: WorkloadAddress,
  [request, access]: readonly [IncomingMessage, Letting],
  signal: AbortSignal,
): Promise<Entered> => {
  const { called } = access
  const key = keyOf(context, request)
  const seat = await context.balancer.enter(called.record, signal, key)
  const { revision } = seat.instance
  const isTold = seat.stickyS === 0 || key.thread !== undefined || key.revision === revision
  const cookie = `${context.stickyCookie}=${revision}; Path=${address.base || '/'}; Max-Age=${seat.stickyS}; HttpOnly; SameSite=Lax`
  return { seat, reshape: headers => (isTold ? headers : [...headers, 'set-cookie', cookie]) }
}

const identityFor = ({ ids }: Context, { identity }: Access): string[] => [...identity, requestIdHeader, ids.uuid()]

const run = async (
  context: Context,
  address: WorkloadAddress,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  const { watcher, forwarder } = context
  const gone = new AbortController()
  response.once('close', () => void (response.writableFinished || gone.abort(connectionClosed)))
  const access = await letIn(context, address, request, exchangeOf(response))
  const later = laterOf(access, address)
  if (later)
    return acknowledge(context, later, { address, access, identity: identityFor(context, access), request, response })
  const { seat, reshape } = await enter(context, address, [request, access], gone.signal)
  const watch = watcher.watch(request)
  try {
    await forwarder.forward({
      to: { address: seat.upstream, port: seat.port },
      target: address.target,
      answerRules: answerRules(context, address, access),
      reshape,
      request,
      response,
      withheld: access.withheld,
      identity: identityFor(context, access),
      signal: watch.signal,
    })
  } catch (error) {
    if (isError(error, 'upstream_failed')) await context.heal(seat.instance)
    throw watch.signal.aborted ? watch.signal.reason : error
  } finally {
    watch.stop()
    seat.release()
  }
}

const runUpgrade = async (
  context: Context,
  address: WorkloadAddress,
  request: IncomingMessage,
  [socket, head]: readonly [Duplex, Buffer],
): Promise<void> => {
  const gone = new AbortController()
  socket.once('close', () => gone.abort(connectionClosed))
  const access = await letIn(context, address, request, exchangeOf(socket))
  const { seat } = await enter(context, address, [request, access], gone.signal)
  await splice(
    {
      to: { address: seat.upstream, port: seat.port },
      target: address.target,
      request,
      socket,
      head,
      withheld: access.withheld,
      answerRules: answerRules(context, address, access),
      identity: identityFor(context, access),
      release: seat.release,
      hold: seat.again,
    },
    context,
  )
}

/** Logs a failure, and says it as the data plane does. */
const failure = (context: Context, error: unknown, request: IncomingMessage): ErrorReply => {
  const { clock, ids, log, words } = context
  const requestId = ids.uuid()
  const known = shown(error, requestId)
  const { method } = request
  const line = { requestId, method, host: request.headers.host, code: known.code, reason: known.message }
  if (known.code === 'internal') log.error('call.failed', { ...line, error })
  else log.info('call.refused', line)
  return errorReply(known, { headers: words, now: clock.now(), request })
}

export const createCalls = (options: CallsOptions, deps: CallsDeps): Calls => {
  const context: Context = { ...deps, ...options }
  const { log } = context
  return {
    addressOf({ url: target = '/', headers }) {
      return byHost(headers.host ?? '', target, options) ?? byPath(target, options.forms)
    },
    handle(address, request, response) {
      response.once('close', () => deps.answered(response.statusCode))
      run(context, address, request, response)
        .catch((error: unknown) => {
          if (response.headersSent || response.destroyed) response.destroy()
          // Browsers ask first, without a credential.
          else if (!preflight(request, response)) sendError(failure(context, error, request), response)
          request.resume()
        })
        .catch((error: unknown) => {
          log.error('call.broken', { error })
          response.destroy()
        })
    },
    upgrade(address, request, socket, head) {
      socket.on('error', error => log.debug('call.socket', { error }))
      runUpgrade(context, address, request, [socket, head]).catch((error: unknown) => {
        endRaw(socket, failure(context, error, request))
      })
    },
  }
}

/**
 * The one way in and out: match → before (authenticate, choose a version) → parse → run → reply → one log line.
 * Whatever is thrown on the way becomes a reply in the surface's own error shape.
 */
import { fail, isError, type AppError } from '../errors.ts'
import type { Ids } from '../ids.ts'
import type { Log } from '../log.ts'
import { Reply, SocketUpgrade, json, reply, type Bound, type Context, type Request, type Route } from '../route.ts'
import { parse } from '../schema.ts'
import { inputOf } from './input.ts'
import { matcher, type Decoding, type Match, type Matcher } from './match.ts'

/** How a request ended, `ms` after it came in. */
export interface Outcome {
  readonly status: number
  /** Whether a route was found, even if it failed. */
  readonly matched: boolean
  readonly ms: number
}

export interface Surface {
  readonly decoding: Decoding
  /** Headers on every reply, in lower case; those of the reply itself win. A function gets the outcome. */
  readonly headers: Readonly<Record<string, string>> | ((outcome: Outcome) => Readonly<Record<string, string>>)
  /** Turns a failure into this surface's body. */
  renderError(error: AppError, context: { request: Request; route?: Route; requestId: string }): Reply
  /** Answers before any route is looked at (OPTIONS, redirects), or undefined. */
  intercept?(request: Request): Reply | undefined
  /** Nothing matched; `methods` are those the path would answer to. */
  unmatched?(request: Request, methods: readonly string[]): Reply
  /** Runs after matching: authentication, versions. What it returns becomes `context.facts`. */
  before?(request: Request, route: Route, requestId: string): Promise<Record<string, unknown>> | Record<string, unknown>
  /** Headers of the answer to this body, as it was sent; whether it is of the route's shape is not known yet. */
  remarks?(route: Route, body: unknown): Readonly<Record<string, string>>
  /** Checks replies against `returns`; on in tests. */
  readonly checkReplies?: boolean
  /** One line per request. */
  readonly logRequests?: boolean
  /** The `source` field of that line, to filter by. */
  readonly logSource?: string
  /** The address as it is logged. */
  describe?(request: Request): string
}

/** Who waits for the answer; an AbortController is one. */
export interface Client {
  /** Aborted when the client is gone. Asked for when a handler does. */
  readonly signal: AbortSignal
}

export interface Dispatcher {
  readonly bounds: readonly Bound[]
  dispatch(request: Request, client: Client): Promise<Reply | SocketUpgrade>
}

const asksForWebSocket = ({ headers: { connection = '', upgrade = '' } }: Request): boolean =>
  /(^|[\s,])upgrade([\s,]|$)/i.test(String(connection)) && String(upgrade).toLowerCase() === 'websocket'

/** What the requests of a dispatcher have in common. */
interface Serving {
  readonly routes: Matcher
  readonly surface: Surface
  readonly log: Log
  readonly ids: Ids
  readonly elapsed: () => number
}

/** One request on its way; what is found out about it is added. */
interface Passage {
  readonly request: Request
  readonly requestId: string
  readonly client: Client
  readonly start: number
  route?: Route
  failure?: unknown
  remarks?: Readonly<Record<string, string>> | undefined
}

type Made = Pick<Context, 'request' | 'requestId' | 'log' | 'facts'>

/** A class, since an object with accessors that is made for each request costs V8 a hidden class of its own. */
class RequestContext implements Context {
  readonly request: Request
  readonly requestId: string
  readonly log: Log
  readonly facts: Context['facts']
  private readonly client: Client

  constructor(client: Client, { request, requestId, log, facts }: Made) {
    this.request = request
    this.requestId = requestId
    this.log = log
    this.facts = facts
    this.client = client
  }

  get signal(): AbortSignal {
    return this.client.signal
  }
}

const requestIdOf = ({ headers }: Request, ids: Ids): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : ids.uuid()
}

const run = async ({ surface, log }: Serving, passage: Passage, match: Match): Promise<Reply | SocketUpgrade> => {
  const { request, requestId, client } = passage
  const { route, run: handler } = match.bound
  const facts = (await surface.before?.(request, route, requestId)) ?? {}
  const input = await inputOf(request, route, match.params, body => {
    passage.remarks = surface.remarks?.(route, body)
  })
  const context = new RequestContext(client, { request, requestId, log, facts })
  const result = await handler(input, context)
  if (result instanceof SocketUpgrade) {
    if (!asksForWebSocket(request)) throw fail('upgrade_required', { protocol: 'WebSocket' })
    return result
  }
  if (result instanceof Reply) return result
  if (surface.checkReplies) parse(route.returns, JSON.parse(JSON.stringify(result ?? null)), 'config')
  return json(result)
}

const answer = async (serving: Serving, passage: Passage): Promise<Reply | SocketUpgrade> => {
  const { routes, surface } = serving
  const { request } = passage
  const early = surface.intercept?.(request)
  if (early) return early
  const match = routes.match(request.method, request.rawPath, request.path)
  if (!match) {
    const methods = routes.methods(request.rawPath, request.path)
    if (surface.unmatched) return surface.unmatched(request, methods)
    throw fail('route_not_found', { method: request.method, path: request.rawPath })
  }
  passage.route = match.bound.route
  return run(serving, passage, match)
}

/** What some statuses name that would do (RFC 9110, sections 15.5.16 and 15.5.22). */
const wanted: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  upgrade_required: { upgrade: 'websocket', connection: 'upgrade, close' },
  unsupported_encoding: { 'accept-encoding': 'identity' },
}

const failed = ({ surface }: Serving, passage: Passage, error: unknown): Reply => {
  const { request, requestId, client, route } = passage
  passage.failure = error
  if (client.signal.aborted) return reply(499)
  const known = isError(error) ? error : fail('internal', { requestId }, error)
  const shown = surface.renderError(known, { request, requestId, ...(route ? { route } : {}) })
  return new Reply(shown.status, { ...shown.headers, ...wanted[known.code] }, shown.body)
}

const logRequest = ({ surface, log }: Serving, passage: Passage, { status, ms }: Outcome): void => {
  if (!surface.logRequests && status < 500) return
  const { request, requestId, route, failure } = passage
  const line = {
    source: surface.logSource,
    method: request.method,
    path: surface.describe?.(request) ?? request.rawPath,
    route: route?.id,
    status,
    ms: Math.round(ms * 100) / 100,
    requestId,
  }
  if (status >= 500) log.error('request.done', { ...line, error: failure })
  else log.info('request.done', line)
}

/** Logs the request and adds the headers of every reply. */
const finish = (serving: Serving, passage: Passage, result: Reply | SocketUpgrade): Reply | SocketUpgrade => {
  const { headers } = serving.surface
  const status = result instanceof Reply ? result.status : 101
  const outcome = { status, matched: passage.route !== undefined, ms: serving.elapsed() - passage.start }
  logRequest(serving, passage, outcome)
  if (result instanceof SocketUpgrade) return result
  const common = typeof headers === 'function' ? headers(outcome) : headers
  return new Reply(status, { ...common, ...passage.remarks, ...result.headers }, result.body, result.cookies)
}

export const dispatcher = (
  bounds: readonly Bound[],
  surface: Surface,
  deps: { log: Log; ids: Ids; elapsed: () => number },
): Dispatcher => {
  const serving: Serving = { ...deps, surface, routes: matcher(bounds, surface.decoding) }
  return {
    bounds,
    async dispatch(request, client) {
      const passage: Passage = { request, requestId: requestIdOf(request, deps.ids), client, start: deps.elapsed() }
      const result = await answer(serving, passage).catch((error: unknown) => failed(serving, passage, error))
      return finish(serving, passage, result)
    },
  }
}

/**
 * The one way in and out: match → before (authenticate, choose a version) → parse → run → reply → one log line.
 * Whatever is thrown on the way becomes a reply in the surface's own error shape.
 */
import { isError, type AppError } from '../errors.ts'
import { fail } from '../errors.ts'
import type { Ids } from '../ids.ts'
import type { Log } from '../log.ts'
import { Reply, Takeover, anything, json, reply, type Bound, type Context, type Request, type Route } from '../route.ts'
import { parse, type Shape } from '../schema.ts'
import { parseJson, readBody } from './body.ts'
import { matcher, type Decoding, type Match } from './match.ts'

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
  before?(request: Request, route: Route): Promise<Record<string, unknown>> | Record<string, unknown>
  /** Checks replies against `returns`; on in tests. */
  readonly checkReplies?: boolean
  /** One line per request. */
  readonly logRequests?: boolean
  /** The `source` field of that line, to filter by. */
  readonly logSource?: string
  /** The address as it is logged. */
  describe?(request: Request): string
}

export interface Dispatcher {
  readonly bounds: readonly Bound[]
  dispatch(request: Request, signal: AbortSignal): Promise<Reply | Takeover>
}

const queryOf = (search: URLSearchParams): Record<string, string> => {
  const query: Record<string, string> = {}
  // The first value wins, as clients expect from the servers they come from.
  for (const [key, value] of search) query[key] ??= value
  return query
}

/** Parameters or query in their declared shape; passed on as they are where nothing is declared. */
const textOf = (shape: Shape, values: Record<string, string>, origin: 'params' | 'query'): unknown =>
  shape === (anything as Shape) ? values : parse(shape, values, origin)

const bodyOf = async (request: Request, route: Route): Promise<unknown> => {
  if (route.accepts !== 'json') return undefined
  const value = parseJson(await readBody(request.body, route.bodyLimit))
  return parse(route.body, value, 'body')
}

const asksForWebSocket = ({ headers: { connection = '', upgrade = '' } }: Request): boolean =>
  /(^|[\s,])upgrade([\s,]|$)/i.test(String(connection)) && String(upgrade).toLowerCase() === 'websocket'

export const dispatcher = (
  bounds: readonly Bound[],
  surface: Surface,
  deps: { log: Log; ids: Ids; elapsed: () => number },
): Dispatcher => {
  const { log, ids, elapsed } = deps
  const routes = matcher(bounds, surface.decoding)

  const answer = async (
    match: Match,
    request: Request,
    requestId: string,
    signal: AbortSignal,
  ): Promise<Reply | Takeover> => {
    const { route, run } = match.bound
    const facts = (await surface.before?.(request, route)) ?? {}
    const params = textOf(route.params, match.params, 'params')
    const query = textOf(route.query, queryOf(request.search), 'query')
    const body = await bodyOf(request, route)
    const context: Context = { signal, request, requestId, log, facts }
    const result = await run({ params, query, body }, context)
    if (result instanceof Takeover) {
      if (!asksForWebSocket(request)) throw fail('upgrade_required', { protocol: 'WebSocket' })
      return result
    }
    if (result instanceof Reply) return result
    if (surface.checkReplies) parse(route.returns, JSON.parse(JSON.stringify(result ?? null)), 'config')
    return json(result)
  }

  const dispatch = async (request: Request, signal: AbortSignal): Promise<Reply | Takeover> => {
    const start = elapsed()
    const given = request.headers['x-request-id']
    const requestId = typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : ids.uuid()
    let route: Route | undefined
    let failure: unknown
    const finish = (result: Reply | Takeover): Reply | Takeover => {
      const status = result instanceof Reply ? result.status : 101
      const ms = elapsed() - start
      if (surface.logRequests || status >= 500) {
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
      if (result instanceof Takeover) return result
      const { headers } = surface
      const common = typeof headers === 'function' ? headers({ status, matched: route !== undefined, ms }) : headers
      return new Reply(result.status, { ...common, ...result.headers }, result.body)
    }
    try {
      const early = surface.intercept?.(request)
      if (early) return finish(early)
      const match = routes.match(request.method, request.rawPath, request.path)
      if (!match) {
        const methods = routes.methods(request.rawPath, request.path)
        if (surface.unmatched) return finish(surface.unmatched(request, methods))
        throw fail('route_not_found', { method: request.method, path: request.rawPath })
      }
      route = match.bound.route
      return finish(await answer(match, request, requestId, signal))
    } catch (error) {
      failure = error
      if (signal.aborted) return finish(reply(499))
      const known = isError(error) ? error : fail('internal', { requestId }, error)
      const shown = surface.renderError(known, { request, requestId, ...(route ? { route } : {}) })
      // A 426 must name the protocol it wants (RFC 9110, section 15.5.22).
      const wants = known.code === 'upgrade_required' ? { upgrade: 'websocket', connection: 'upgrade, close' } : {}
      return finish(new Reply(shown.status, { ...shown.headers, ...wants }, shown.body))
    }
  }
  return { bounds, dispatch }
}

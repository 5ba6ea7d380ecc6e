/** How the management API answers: error bodies, versions, credentials, CORS. */
import type { Clock } from '../../shared/clock.ts'
import { fail, type AppError, type ErrorCode } from '../../shared/errors.ts'
import type { Surface } from '../../shared/http/dispatch.ts'
import { json, reply, type Context, type Reply, type Request, type Route } from '../../shared/route.ts'
import type { Actor } from '../resources/crud.ts'
import type { ApiKey, AuditedBy, Workspace } from '../store/store.ts'
import { accessOf, needAccess, type Access } from '../auth/access.ts'
import { everyScope, type Keys } from '../auth/keys.ts'
import type { Standing } from '../auth/standing.ts'
import type { Denials, Denied } from '../audit/denials.ts'
import type { Caller } from './caller.ts'
import { versionOf, type Version, type VersionNames } from './versions.ts'
import { challengeOf } from './challenge.ts'
import { warningsOf } from './warnings.ts'
import { wantsHtml } from '../html/accept.ts'
import { errorPageReply } from '../html/error-page.ts'
import type { WireNames } from '../wire/names.ts'

/** What is known of a request before its handler runs. `workspace` and `actor` are absent on account routes. */
export interface Facts {
  readonly version: Version
  readonly key: ApiKey
  readonly workspace: Workspace
  readonly actor: Actor
  /** What the audit says of the caller. */
  readonly by: AuditedBy
}

export const factsOf = (context: Context): Facts => context.facts as unknown as Facts

/** Facts of the management surface on a route. */
export interface ApiExtra {
  /** Who may call it; every route that is not `open` says so. */
  readonly access?: Access
  /** `none`: the call belongs to the account; no workspace is looked for. */
  readonly tenant?: 'workspace' | 'none'
  /** What the route speaks, where that is not this API: its clients find out how to get a credential from a 401. */
  readonly protocol?: 'mcp'
  /** Kind whose create answers failures in the richer form. */
  readonly detailedErrors?: string
}

export const extraOf = (route: Route | undefined): ApiExtra => (route?.extra ?? {}) as ApiExtra

/** Bytes of a JSON body on the management API. */
export const bodyLimit = 5 * 1024 * 1024

const allowedHeaders = (names: WireNames): string =>
  [
    ...names.credentialHeaders,
    ...names.workspaceHeaders,
    ...names.versionHeaders,
    'content-type',
    'accept',
    'x-request-id',
    'cache-control',
    'user-agent',
    // Of the Model Context Protocol.
    ...['protocol-version', 'session-id', 'method', 'name'].map(name => `mcp-${name}`),
    'last-event-id',
    // What generated clients tell of themselves.
    ...[
      'lang',
      'package-version',
      'os',
      'arch',
      'runtime',
      'runtime-version',
      'retry-count',
      'timeout',
      'read-timeout',
    ].map(name => `x-stainless-${name}`),
  ].join(', ')

/** Failure texts of a create that clients know by name. */
const detailedCode = (error: AppError, kind: string): string =>
  error.code === 'already_exists' ? `${kind}_already_exists`.toUpperCase() : error.code.toUpperCase()

const detailed = (error: AppError, kind: string, known: { actor: Actor | undefined; now: number }) => {
  const { name } = (error.details ?? {}) as { name?: string }
  const details =
    error.code === 'invalid_image'
      ? {
          requested_image: (error.details as { requested: string }).requested,
          supported_images: (error.details as { supported: readonly string[] }).supported,
        }
      : error.code === 'invalid_argument'
        ? error.details
        : undefined
  return {
    error: error.code === 'invalid_api_version' ? error.code : detailedCode(error, kind),
    status_code: error.status,
    step: error.status < 500 ? 'validate_and_prepare' : 'create',
    timestamp: new Date(known.now).toISOString(),
    ...(error.code === 'already_exists' && name ? { [`${kind}_name`]: name } : {}),
    ...(known.actor ? { workspace: known.actor.workspace } : {}),
    ...(details ? { details } : {}),
  }
}

/** What `error` says where clients look for a text of their own. */
const said: Partial<Record<ErrorCode, string>> = { no_capacity: 'Maximum parallel executions limit reached' }

/** Of those that know when. */
const retryAfter = (error: AppError): Record<string, string> => {
  const { retryAfterS } = (error.details ?? {}) as { retryAfterS?: number }
  return retryAfterS === undefined ? {} : { 'retry-after': String(retryAfterS) }
}

const errorHeaders = (error: AppError, asked: () => string): Record<string, string> => ({
  // Clients in the field repeat every 409 unless told that it is final.
  ...(error.status === 409 && !error.retry ? { 'x-should-retry': 'false' } : {}),
  ...(error.status === 503 ? { 'retry-after': '1' } : {}),
  ...retryAfter(error),
  ...(error.status === 401 ? { 'www-authenticate': asked() } : {}),
})

const warningHeaders = (names: WireNames): string[] => names.headers('Warnings').map(name => name.toLowerCase())

/** What pages of other origins may send and read. */
const corsHeaders = (names: WireNames) => {
  const read = ['x-request-id', 'www-authenticate', ...names.headers('Upload-Url'), ...warningHeaders(names)]
  const cors = {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': read.join(', ').toLowerCase(),
  }
  const preflight = {
    ...cors,
    'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE, OPTIONS',
    'access-control-allow-headers': allowedHeaders(names),
    'access-control-max-age': '86400',
  }
  return { cors, preflight }
}

/** Who asks, in which version, and whether the route is for them: what is known before a body is read. */
const admitted = async (
  { caller, versions }: { caller: Caller; versions: VersionNames },
  request: Request,
  route: Route,
  { requestId, known }: { requestId: string; known: (facts: Partial<Facts>) => void },
): Promise<Partial<Facts>> => {
  const version = versionOf(request.headers, versions)
  const access = accessOf(route)
  if (!access) return { version }
  const key = await caller.keyOf(request)
  const by: AuditedBy = { actor: key.name, credential: key.id, remote: request.remote, requestId }
  known({ key, by })
  const length = Number(request.headers['content-length'] ?? 0)
  if (length > route.bodyLimit) throw fail('payload_too_large', { limit: route.bodyLimit })
  const workspace = extraOf(route).tenant === 'none' ? undefined : await caller.workspaceOf(key, request)
  known({ key, by, ...(workspace ? { workspace } : {}) })
  needAccess(access, key)
  if (!workspace) return { version, key, by }
  const { name, role, scopes } = key
  const limits = scopes?.includes(everyScope) ? null : scopes
  const actor: Actor = { workspace: workspace.name, name, admin: role === 'admin', scopes: limits, by }
  return { version, key, workspace, actor, by }
}

interface Refused {
  readonly request: Request
  readonly route: Route
  readonly requestId: string
  readonly facts?: Partial<Facts> | undefined
}

/** What the audit says of a call that was denied: of one without a credential, where it came from. */
const deniedOf = (error: AppError, { request, route, requestId, facts = {} }: Refused): Denied => ({
  ...(facts.by ?? { actor: '', credential: '', remote: request.remote, requestId }),
  account: facts.key?.account ?? '',
  workspace: facts.workspace?.name ?? facts.key?.workspace ?? '',
  endpoint: route.id,
  reason: error.message,
})

interface SurfaceDeps {
  readonly caller: Caller
  readonly keys: Pick<Keys, 'right'>
  readonly standing: Standing
  /** Told of each connection that has brought a valid credential. */
  readonly admitted?: ((connection: object | undefined) => void) | undefined
  readonly clock: Clock
  readonly names: WireNames
  readonly denials: Pick<Denials, 'note'>
  readonly publicUrl: () => string
  /** Versions beside ours: theirs → ours. */
  readonly apiVersions?: VersionNames['accepted'] | undefined
  readonly checkReplies?: boolean
  readonly logRequests?: boolean
}

export const managementSurface = (deps: SurfaceDeps): Surface => {
  const { caller, keys, standing, clock, names, denials } = deps
  const { apiVersions = {}, checkReplies = false, logRequests = false } = deps
  const versions = { headers: names.versionHeaders, accepted: apiVersions }
  const knownOf = new WeakMap<Request, Partial<Facts>>()
  const warned = warningsOf(names.isOwnLabel)
  const { cors, preflight } = corsHeaders(names)
  const renderError: Surface['renderError'] = (error, { request, route, requestId }): Reply => {
    if (route && [401, 403].includes(error.status))
      denials.note(deniedOf(error, { request, route, requestId, facts: knownOf.get(request) }))
    const kind = extraOf(route).detailedErrors
    const body = {
      error: said[error.code] ?? error.code,
      code: error.status,
      message: error.message,
      ...(kind ? detailed(error, kind, { actor: knownOf.get(request)?.actor, now: clock.now() }) : {}),
    }
    const headers = {
      vary: 'Accept',
      'x-request-id': requestId,
      ...errorHeaders(error, () => challengeOf(extraOf(route).protocol, deps.publicUrl)),
    }
    if (wantsHtml(request)) return errorPageReply(error, request, headers)
    return json(body, { status: error.status, headers })
  }

  return {
    decoding: 'segments',
    headers: cors,
    checkReplies,
    logRequests,
    renderError,
    remarks(route, body) {
      const text = warned(route, body)
      return text === undefined ? {} : Object.fromEntries(warningHeaders(names).map(name => [name, text]))
    },
    intercept: request => (request.method === 'OPTIONS' ? reply(204, preflight) : undefined),
    unmatched(request, methods) {
      const context = { request, requestId: '' }
      if (methods.length === 0)
        return renderError(fail('route_not_found', { method: request.method, path: request.rawPath }), context)
      const reason = `${request.method} is not possible here; use ${methods.join(' or ')}`
      const refused = renderError(fail('method_not_allowed', { reason }), context)
      return reply(refused.status, { ...refused.headers, allow: methods.join(', ') }, refused.body)
    },
    async before(request, route, requestId) {
      const known = (facts: Partial<Facts>) => void knownOf.set(request, facts)
      const facts = await admitted({ caller, versions }, request, route, { requestId, known })
      if (facts.key) {
        deps.admitted?.(request.connection)
        if (request.exchange) standing.watch(keys.right(facts.key), request.exchange)
      }
      known(facts)
      return { ...facts }
    },
  }
}

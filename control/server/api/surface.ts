/** How the management API answers: versions, credentials, and what is known of a request. */
import type { Clock } from '../../../shared/clock.ts'
import { fail, type AppError } from '../../../shared/errors.ts'
import type { Surface } from '../../../shared/http/dispatch.ts'
import { json, reply, type Context, type Reply, type Request, type Route } from '../../../shared/route.ts'
import type { Actor } from '../../core/records/crud.ts'
import type { ApiKey, AuditedBy, Workspace } from '../../core/store/store.ts'
import { accessOf, needAccess, type Access } from '../../core/access/access.ts'
import { everyScope, inWorkspace, type Keys } from '../../core/access/keys.ts'
import type { Standing } from '../../core/access/standing.ts'
import type { Denials, Denied } from '../access/audit/denials.ts'
import type { Caller } from './caller.ts'
import { corsHeaders, warningHeaders } from './cross-origin.ts'
import { errorBody, errorHeaders } from './error-answers.ts'
import { versionOf, type Version, type VersionNames } from './versions.ts'
import { challengeOf } from './challenge.ts'
import { warningsOf, warningText, type Warning } from './warnings.ts'
import { wantsHtml } from '../web/html/accept.ts'
import { errorPageReply } from '../web/html/error-page.ts'
import type { WireNames } from '../../base/wire/names.ts'

/** What is known of a request before its handler runs. `workspace` and `actor` are absent on account routes. */
export interface Facts {
  readonly version: Version
  readonly key: ApiKey
  readonly workspace: Workspace
  readonly actor: Actor
  /** What the audit says of the caller. */
  readonly by: AuditedBy
  /** Headers of an answer that say it. */
  readonly warn: (warnings: readonly Warning[]) => Record<string, string>
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
  const shown = await caller.keyOf(request)
  const by: AuditedBy = { actor: shown.name, credential: shown.id, remote: request.remote, requestId }
  known({ key: shown, by })
  const length = Number(request.headers['content-length'] ?? 0)
  if (length > route.bodyLimit) throw fail('payload_too_large', { limit: route.bodyLimit })
  const workspace = extraOf(route).tenant === 'none' ? undefined : await caller.workspaceOf(shown, request)
  const key = workspace ? inWorkspace(shown, workspace) : shown
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
  /** Members of bodies that have no effect on this host, by their paths. */
  readonly idle?: ReadonlySet<string>
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
  const warned = warningsOf(names.isOwnLabel, deps.idle)
  const { cors, preflight } = corsHeaders(names)
  const saying = (text: string | undefined): Record<string, string> =>
    text === undefined ? {} : Object.fromEntries(warningHeaders(names).map(name => [name, text]))
  const warn: Facts['warn'] = warnings => saying(warningText(warnings))
  const renderError: Surface['renderError'] = (error, { request, route, requestId }): Reply => {
    if (route && [401, 403].includes(error.status))
      denials.note(deniedOf(error, { request, route, requestId, facts: knownOf.get(request) }))
    const { detailedErrors, protocol } = extraOf(route)
    const body = errorBody(error, detailedErrors, { actor: knownOf.get(request)?.actor, now: clock.now() })
    const headers = {
      vary: 'Accept',
      'x-request-id': requestId,
      ...errorHeaders(error, () => challengeOf(protocol, deps.publicUrl)),
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
      return saying(warned(route, body))
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
        if (request.exchange) standing.watch(keys.right(facts.key, facts.workspace), request.exchange)
      }
      known(facts)
      return { ...facts, warn }
    },
  }
}

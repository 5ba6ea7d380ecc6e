/** What all routes of the per-sandbox API have in common: headers, redirects, error bodies, the request log. */
import type { Surface } from '../shared/http/dispatch.ts'
import { fail } from '../shared/errors.ts'
import { isMalformed } from '../shared/http/request.ts'
import { matcher } from '../shared/http/match.ts'
import { json, reply, type Bound, type Request } from '../shared/route.ts'
import { sandboxHeaders } from '../shared/wire/sandbox-headers.ts'
import { createActorReader } from './audit.ts'
import { needAudience } from './channel/audience.ts'
import type { Connections } from './channel/connections.ts'
import type { Config } from './config/config.ts'
import { redactQuery } from './redact.ts'

/** The same address with or without its last slash. */
const otherSlash = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : `${path}/`)

/** The target as it was sent, with another path if one is given. */
const targetOf = ({ rawPath, rawQuery }: Request, path = rawPath): string =>
  rawQuery === '' ? path : `${path}?${rawQuery}`

/**
 * The address with the slash added or removed. One that was sent encoded comes back decoded, since the slash itself
 * was.
 */
const elsewhere = (request: Request): string => {
  const { rawPath, path } = request
  const plain = rawPath.endsWith('/') === path.endsWith('/')
  return targetOf(request, otherSlash(plain ? rawPath : encodeURI(path)))
}

/** The surface of a daemon that answers `bounds`. */
export const createDaemonSurface = (
  bounds: readonly Bound[],
  config: Pick<Config, 'names' | 'logRequests' | 'serverTiming'>,
  options: { callerOf?: Connections['callerOf']; checkReplies?: boolean } = {},
): Surface => {
  const { callerOf = () => 'host', checkReplies = false } = options
  const routes = matcher(bounds, 'whole')
  const actorOf = createActorReader(config.names)
  const previewKeys = new Set(config.names.previewTokens.map(key => key.toLowerCase()))
  return {
    decoding: 'whole',
    headers: ({ status, matched, ms }) => {
      if (!matched && (status === 301 || status === 307)) return {}
      return config.serverTiming
        ? { ...sandboxHeaders, 'server-timing': `total;dur=${ms.toFixed(2)};desc="Total processing time"` }
        : sandboxHeaders
    },
    renderError: error => json({ error: error.message }, { status: error.status }),
    intercept: request => (request.method === 'OPTIONS' ? reply(204) : undefined),
    unmatched: request => {
      const { method, rawPath, path } = request
      if (path.length > 1 && routes.match(method, otherSlash(rawPath), otherSlash(path)))
        return reply(method === 'GET' ? 301 : 307, { location: elsewhere(request) })
      return reply(404, { 'content-type': 'text/plain' }, '404 page not found\n')
    },
    before: (request, route) => {
      const caller = callerOf(request)
      needAudience(route.id, caller)
      if (isMalformed(request.rawPath))
        throw fail('invalid_argument', { field: 'path', reason: 'a percent sign must be written as %25' })
      return { caller, actor: actorOf(request) }
    },
    checkReplies,
    logRequests: config.logRequests,
    logSource: 'access',
    describe: request => redactQuery(targetOf(request), key => previewKeys.has(key)),
  }
}

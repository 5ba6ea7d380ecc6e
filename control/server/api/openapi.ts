/** The document of the management API, computed from its routes. */
import { openApi } from '../../../shared/http/openapi.ts'
import type { ErrorCode } from '../../../shared/errors.ts'
import { handle, reply, route, type Bound, type Route } from '../../../shared/route.ts'
import { s, toJsonSchema } from '../../../shared/schema.ts'
import { accessOf } from '../../core/access/access.ts'
import type { WireNames } from '../../base/wire/names.ts'
import { extraOf } from './surface.ts'
import { managementFamilies, managementTexts } from './texts.ts'
import { apiVersions } from '../../base/config/api-versions.ts'

const errorBody = s.looseObject({
  /** Type of the failure, for programs. */
  error: s.string(),
  /** The HTTP status. */
  code: s.int(),
  /** What happened, for people. */
  message: s.string(),
})

export const openApiRoute = route('GET /v0/openapi.json', {
  id: 'openapi.get',
  summary: 'This document',
  family: 'about',
  returns: s.looseObject({ openapi: s.string() }),
  open: true,
})

/** What the surface may answer on any route, whatever its handler does. */
const withSurfaceErrors = (route: Route): Route => {
  const before: ErrorCode[] = ['invalid_api_version']
  // Nothing but what is said without the database is answered without it; its disk may be full, or read-only.
  if (!route.open || route.method !== 'GET') before.push('unavailable')
  if (!route.open) before.push('unauthenticated', 'forbidden', 'payload_too_large')
  if (!route.open && extraOf(route).tenant !== 'none') before.push('invalid_argument', 'not_found')
  const access = accessOf(route)
  return {
    ...route,
    errors: [...new Set([...before, ...route.errors])],
    document: { ...route.document, ...(access ? { 'x-access': access } : {}) },
  }
}

/** Computed once, at the first request: the routes do not change afterwards. */
export const openApiRoutes = (
  described: () => readonly Bound[],
  names: Pick<WireNames, 'credentialHeaders'>,
): Bound => {
  let text: string | undefined
  const named = names.credentialHeaders.filter(header => header !== 'authorization')
  const render = (): string => {
    const routes = described().map(({ route }) => withSurfaceErrors(route))
    return JSON.stringify(
      openApi(routes, {
        title: 'Hutch management API',
        version: apiVersions.at(-1) as string,
        description: `Lists come in pages from version ${apiVersions[1]} on. Select a workspace with the query "workspace" or the workspace header.`,
        credential: { headers: ['authorization', ...named], optional: false },
        errorSchema: toJsonSchema(errorBody, 'output'),
        texts: managementTexts,
        families: managementFamilies,
      }),
    )
  }
  return handle(openApiRoute, () => {
    text ??= render()
    return reply(200, { 'content-type': 'application/json; charset=utf-8' }, text)
  })
}

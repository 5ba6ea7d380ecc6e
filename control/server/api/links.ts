/** Links for browsers: a ticket for a resource's terminal or for one of its ports, in an address that works once. */
import { fail } from '../../../shared/errors.ts'
import { handle, route, type Bound } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import type { Logins } from '../proxy/gateway/logins.ts'
import { paramOf, pathOf } from '../../core/records/address.ts'
import type { DataPlane, Kind } from '../../core/records/kind.ts'
import type { Store } from '../../core/store/store.ts'
import { namedRecord, paramsFor } from './named-record.ts'
import { tenantQuery } from './paging.ts'
import { factsOf } from './surface.ts'

const link = s.object({
  /** To be opened once, in a browser. */
  url: s.string(),
  /** When that is too late, in ISO 8601. */
  expiresAt: s.string(),
})

/** The endpoint of a kind with a data plane. */
export const declareLinks = (kind: Kind) => {
  const { kind: name, plural } = kind
  const { scope } = kind.dataPlane as DataPlane
  return {
    create: route(`POST ${pathOf(kind)}/:${paramOf(kind)}/links`, {
      id: `${plural}.links.create`,
      family: plural,
      summary: `Makes an address that opens the terminal or a port of a ${name} in a browser, once and within a minute`,
      extra: { access: { scope, role: 'member' } },
      params: paramsFor(kind),
      query: s.object(tenantQuery),
      body: s.object({
        /** Of an application in it; left out for the terminal. */
        port: s.optional(s.int().check(s.minimum(1), s.maximum(65_535))),
        /** Path and query at that port. */
        path: s.optional(
          s.string().check(s.regex(/^\/[!"$-~]*$/, 'must begin with a slash, be percent-encoded and have no blanks')),
        ),
      }),
      returns: link,
      errors: ['invalid_argument', 'unauthenticated', 'forbidden', 'not_found', 'internal'],
    }),
  }
}

export const linkRoutes = (
  kind: Kind,
  { store, logins }: { readonly store: Store; readonly logins: Pick<Logins, 'link'> },
): Bound[] => [
  handle(declareLinks(kind).create, async ({ params, body: { port, path = '' } }, context) => {
    const { key } = factsOf(context)
    const record = await namedRecord(kind, store, { params, context })
    if ((kind.hiddenStatuses ?? []).includes(record.status))
      throw fail('not_found', { kind: kind.kind, name: record.name })
    if (port === undefined && path) throw fail('invalid_argument', { field: 'path', reason: 'goes with a port' })
    const { host } = context.request.headers
    const opening = { record, port: port ?? null, rest: port === undefined ? '' : path || '/', key }
    const { url, expiresAt } = logins.link(opening, typeof host === 'string' ? host : '')
    return { url, expiresAt: new Date(expiresAt).toISOString() }
  }),
]

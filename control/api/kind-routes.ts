/** The endpoints of a kind, derived from its definition. */
import { listQuery, tenantQuery } from './paging.ts'
import { bodyLimit, factsOf } from './surface.ts'
import { pages } from './versions.ts'
import type { ErrorCode } from '../../shared/errors.ts'
import { handle, route, type Bound, type Context } from '../../shared/route.ts'
import { flag, s } from '../../shared/schema.ts'
import type { Actor, Crud, ResourceInput } from '../resources/crud.ts'
import { ancestorsOf, paramOf, pathOf, type Kind } from '../resources/kind.ts'
import { bodyOf } from '../resources/body.ts'
import { answerOf } from '../resources/present.ts'

const always: ErrorCode[] = ['unauthenticated', 'forbidden', 'not_found', 'internal']
const writing: ErrorCode[] = ['invalid_argument', 'invalid_body', 'payload_too_large', ...always]

const pageOf = (kind: Kind) =>
  s.union([
    s.object({
      data: s.array(answerOf(kind)),
      meta: s.object({ hasMore: s.boolean(), nextCursor: s.string(), total: s.int() }),
    }),
    s.array(answerOf(kind)),
  ])

/** Declares every endpoint of the kind; handlers are bound by `kindRoutes`. */
const declare = (kind: Kind) => {
  const collection = pathOf(kind)
  const outer = Object.fromEntries(ancestorsOf(kind).map(ancestor => [paramOf(ancestor), s.string()]))
  const one: `/${string}` = `${collection}/:${paramOf(kind)}`
  const inner = s.object({ ...outer, [paramOf(kind)]: s.string() })
  const name = kind.kind
  const family = kind.plural
  const scope = (action: string) => ({ scope: `${kind.scope}:${action}` })
  const body = bodyOf(kind)
  const answer = answerOf(kind)
  const query = s.object(tenantQuery)
  return {
    list: route(`GET ${collection}`, {
      id: `${family}.list`,
      summary: `Lists ${family}; in pages from version 2026-04-28, before as a bare array`,
      family,
      params: s.object(outer),
      query: listQuery({ externalId: kind.byExternalId, hidden: kind.hiddenStatuses.length > 0 }),
      returns: pageOf(kind),
      errors: ['invalid_argument', ...always],
      extra: scope('list'),
    }),
    create: route(`POST ${collection}`, {
      id: `${family}.create`,
      summary: `Creates a ${name}; without a name one is given`,
      family,
      params: s.object(outer),
      query: s.object({ ...tenantQuery, createIfNotExist: flag() }),
      body,
      bodyLimit,
      returns: answer,
      errors: [...writing, 'already_exists'],
      extra: { ...scope('create'), ...(kind.detailedErrors ? { detailedErrors: name } : {}) },
    }),
    get: route(`GET ${one}`, {
      id: `${family}.get`,
      summary: `Answers one ${name}`,
      family,
      params: inner,
      query: s.object({ ...tenantQuery, show_secrets: flag() }),
      returns: answer,
      errors: always,
      extra: scope('get'),
    }),
    update: route(`PUT ${one}`, {
      id: `${family}.update`,
      summary: `Changes a ${name}`,
      family,
      params: inner,
      query,
      body,
      bodyLimit,
      returns: answer,
      errors: [...writing, 'wrong_state', 'changed_meanwhile'],
      extra: scope('update'),
    }),
    remove: route(`DELETE ${one}`, {
      id: `${family}.delete`,
      summary: `Deletes a ${name}; repeating it is harmless`,
      family,
      params: inner,
      query,
      returns: answer,
      errors: [...always, 'changed_meanwhile'],
      extra: scope('delete'),
    }),
    byExternalId: route(`GET ${collection}/by-external-id/:externalId`, {
      id: `${family}.getByExternalId`,
      summary: `Answers the newest live ${name} with that external id`,
      family,
      params: s.object({ ...outer, externalId: s.string() }),
      query,
      returns: answer,
      errors: always,
      extra: scope('get'),
    }),
  }
}

const actorOf = (context: Context): Actor => factsOf(context).actor

/** The bound endpoints of a kind. */
export const kindRoutes = (verbs: Crud): Bound[] => {
  const { kind } = verbs
  const declared = declare(kind)
  const within = (params: Record<string, string>) => ({
    parents: ancestorsOf(kind).map(ancestor => params[paramOf(ancestor)] as string),
  })
  const nameIn = (params: Record<string, string>) => params[paramOf(kind)] as string
  return [
    handle(declared.list, async ({ params, query }, context) => {
      const lite = !(kind.paginated && pages(factsOf(context).version))
      const page = await verbs.list(actorOf(context), query, { ...within(params), lite })
      return lite ? page.data : page
    }),
    handle(declared.create, ({ params, query, body }, context) =>
      verbs.create(actorOf(context), body as ResourceInput, {
        ...within(params),
        createIfNotExist: query.createIfNotExist,
      }),
    ),
    handle(declared.get, ({ params, query }, context) =>
      verbs.get(actorOf(context), nameIn(params), { ...within(params), showSecrets: query.show_secrets }),
    ),
    handle(declared.update, ({ params, body }, context) =>
      verbs.update(actorOf(context), nameIn(params), body as ResourceInput, within(params)),
    ),
    handle(declared.remove, ({ params }, context) => verbs.remove(actorOf(context), nameIn(params), within(params))),
    ...(kind.byExternalId
      ? [
          handle(declared.byExternalId, ({ params }, context) =>
            verbs.getByExternalId(actorOf(context), params.externalId as string),
          ),
        ]
      : []),
  ]
}

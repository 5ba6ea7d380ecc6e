/** The endpoints of a kind as declared from its definition; `kind-routes.ts` binds them. */
import type { ErrorCode } from '../../shared/errors.ts'
import { route } from '../../shared/route.ts'
import { flag, s } from '../../shared/schema.ts'
import { bodyOf } from '../resources/body.ts'
import { ancestorsOf, paramOf, pathOf, type KindFace } from '../resources/kind.ts'
import { answerOf } from '../resources/present.ts'
import { listQuery, tenantQuery } from './paging.ts'
import { bodyLimit } from './surface.ts'

const always: ErrorCode[] = ['unauthenticated', 'forbidden', 'not_found', 'internal']
const writing: ErrorCode[] = ['invalid_argument', 'invalid_body', 'payload_too_large', ...always]

const pageOf = <K extends KindFace>(kind: K) =>
  s.union([
    s.object({
      data: s.array(answerOf(kind)),
      meta: s.object({ hasMore: s.boolean(), nextCursor: s.string(), total: s.int() }),
    }),
    s.array(answerOf(kind)),
  ])

/** The parameters in the path of one resource of a kind, its ancestors' among them. */
type Names<K> = K extends { param: infer P extends string }
  ? P | NamesOutside<K>
  : (K extends { kind: infer N extends string } ? `${N}Name` : never) | NamesOutside<K>

type NamesOutside<K> = K extends { parent: infer P extends KindFace } ? Names<P> : never

const params = <N extends string>(names: readonly string[]) =>
  s.object(Object.fromEntries(names.map(name => [name, s.string()]))) as s.ZodMiniObject<{
    [K in N]: s.ZodMiniString<string>
  }>

/** What the declarations of one kind have in common. */
const partsOf = <K extends KindFace>(kind: K) => {
  const collection = pathOf(kind)
  const outer = ancestorsOf(kind).map(paramOf)
  return {
    collection,
    one: `${collection}/:${paramOf(kind)}` as const,
    outside: params<NamesOutside<K>>(outer),
    inside: params<Names<K>>([...outer, paramOf(kind)]),
    common: (action: string) => ({ family: kind.plural, extra: { scope: `${kind.scope}:${action}` } }),
    body: bodyOf(kind),
    answer: answerOf(kind),
    query: s.object(tenantQuery),
  }
}

/** Endpoints of the collection. */
const declareMany = <K extends KindFace>(kind: K) => {
  const { kind: name, plural: family } = kind
  const { collection, outside, common, body, answer, query } = partsOf(kind)
  const creating = common('create')
  return {
    list: route(`GET ${collection}`, {
      id: `${family}.list`,
      summary: `Lists ${family}; in pages from version 2026-04-28, before as a bare array`,
      ...common('list'),
      params: outside,
      query: listQuery({ externalId: kind.byExternalId, hidden: kind.hiddenStatuses.length > 0 }),
      returns: pageOf(kind),
      errors: ['invalid_argument', ...always],
    }),
    create: route(`POST ${collection}`, {
      id: `${family}.create`,
      summary: `Creates a ${name}; without a name one is given`,
      ...creating,
      extra: { ...creating.extra, ...(kind.detailedErrors ? { detailedErrors: name } : {}) },
      params: outside,
      query: s.object({ ...tenantQuery, createIfNotExist: flag() }),
      body,
      bodyLimit,
      returns: answer,
      errors: [...writing, 'already_exists'],
    }),
    byExternalId: route(`GET ${collection}/by-external-id/:externalId`, {
      id: `${family}.getByExternalId`,
      summary: `Answers the newest live ${name} with that external id`,
      ...common('get'),
      params: s.extend(outside, { externalId: s.string() }),
      query,
      returns: answer,
      errors: always,
    }),
  }
}

/** Endpoints of one resource. */
const declareOne = <K extends KindFace>(kind: K) => {
  const { kind: name, plural: family } = kind
  const { one, inside, common, body, answer, query } = partsOf(kind)
  return {
    get: route(`GET ${one}`, {
      id: `${family}.get`,
      summary: `Answers one ${name}`,
      ...common('get'),
      params: inside,
      query: s.object({ ...tenantQuery, show_secrets: flag() }),
      returns: answer,
      errors: always,
    }),
    update: route(`PUT ${one}`, {
      id: `${family}.update`,
      summary: `Changes a ${name}`,
      ...common('update'),
      params: inside,
      query,
      body,
      bodyLimit,
      returns: answer,
      errors: [...writing, 'wrong_state', 'changed_meanwhile'],
    }),
    remove: route(`DELETE ${one}`, {
      id: `${family}.delete`,
      summary: `Deletes a ${name}; repeating it is harmless`,
      ...common('delete'),
      params: inside,
      query,
      returns: answer,
      errors: [...always, 'changed_meanwhile', ...(kind.keptWhileReferenced ? (['in_use'] as const) : [])],
    }),
  }
}

/** Declares every endpoint of the kind; handlers are bound by `kindRoutes`. */
export const declareKind = <K extends KindFace>(kind: K) => ({ ...declareMany(kind), ...declareOne(kind) })

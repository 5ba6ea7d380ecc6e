/** The endpoints of a kind as declared from its definition; `kind-routes.ts` binds them. */
import type { ErrorCode } from '../../../shared/errors.ts'
import { route, type Route } from '../../../shared/route.ts'
import { described, flag, s, type Shape } from '../../../shared/schema.ts'
import type { Access } from '../../core/access/access.ts'
import type { Action } from '../../core/records/action.ts'
import { bodyOf } from '../../core/records/body.ts'
import { accessFor, ancestorsOf, paramOf, pathOf } from '../../core/records/address.ts'
import type { Kind, Verb } from '../../core/records/kind.ts'
import { idNames } from '../../core/records/naming.ts'
import { answerOf } from '../../core/records/present.ts'
import { listQuery, tenantQuery } from './paging.ts'
import { bodyLimit } from './surface.ts'

const always: ErrorCode[] = ['unauthenticated', 'forbidden', 'not_found', 'internal']
const writing: ErrorCode[] = ['invalid_argument', 'invalid_body', 'payload_too_large', ...always]

/** What a kind is called in the API's document: `preview token` → `PreviewToken`. */
const titleOf = ({ kind }: Kind): string => `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`

const pageOf = (kind: Kind): Shape => {
  const items = s.array(described(answerOf(kind), { title: titleOf(kind) }))
  const page = s.object({
    data: kind.pageItem ? s.array(s.looseObject({})) : items,
    meta: s.object({ hasMore: s.boolean(), nextCursor: s.string(), total: s.int() }),
  })
  if (!kind.paginated) return items
  return kind.listedSince ? page : s.union([page, items])
}

const texts = (names: readonly string[]) => s.object(Object.fromEntries(names.map(name => [name, s.string()])))

/** What the declarations of one kind have in common. */
const partsOf = (kind: Kind) => {
  const title = titleOf(kind)
  described(kind.spec, { title: `${title}SpecInput` })
  const collection = pathOf(kind)
  const outer = ancestorsOf(kind).map(paramOf)
  return {
    collection,
    one: `${collection}/:${paramOf(kind)}` as const,
    outer,
    outside: texts(outer),
    inside: texts([...outer, paramOf(kind)]),
    stated: (access: Access) => ({ family: kind.plural, extra: { access } }),
    common: (verb: Verb) => ({ family: kind.plural, extra: { access: accessFor(kind, verb) } }),
    answer: described(answerOf(kind), { title }),
    body: (verb: 'create' | 'update') =>
      described(bodyOf(kind, verb), {
        title: `${title}${kind.wire && kind.wire.update !== kind.wire.create && verb === 'update' ? 'Update' : 'Input'}`,
      }),
    query: s.object(tenantQuery),
    /** The query with flags that a kind may have or not. */
    asking: (flags: Readonly<Record<string, boolean>>) =>
      s.object({
        ...tenantQuery,
        ...Object.fromEntries(Object.keys(flags).flatMap(name => (flags[name] ? [[name, flag()]] : []))),
      }),
  }
}

/** `customDomain` in words, and with its article. */
const wordsOf = ({ kind }: Kind): string => kind.replace(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`)
const oneOf = (kind: Kind): string => `${/^[aeiou]/.test(kind.kind) ? 'an' : 'a'} ${wordsOf(kind)}`

const listed = ({ plural, paginated, listedSince }: Kind): string => {
  if (!paginated) return `Lists ${plural}`
  return listedSince
    ? `Lists ${plural} in pages; from version ${listedSince} on`
    : `Lists ${plural}; in pages from version 2026-04-28, before as a bare array`
}

/** Endpoints of the collection. */
const declareMany = (kind: Kind) => {
  const { kind: name, plural: family, listedAcross: across } = kind
  const { collection, outer, outside, common, stated, answer, body, query, asking } = partsOf(kind)
  const creating = common('create')
  const listing = {
    query: listQuery(kind),
    returns: pageOf(kind),
    errors: ['invalid_argument', ...always] as ErrorCode[],
  }
  return {
    list: route(`GET ${collection}`, {
      id: `${family}.list`,
      summary: listed(kind),
      ...common('list'),
      params: outside,
      ...listing,
    }),
    listAcross: route(`GET /v0/${across?.path ?? ''}`, {
      id: `${family}.listAll`,
      summary: `Lists the ${family} of the workspace`,
      ...stated(across?.access ?? accessFor(kind, 'list')),
      ...listing,
    }),
    create: route(`POST ${collection}`, {
      id: `${family}.create`,
      summary:
        kind.names === idNames || !kind.names.generate
          ? `Creates ${oneOf(kind)}`
          : `Creates ${oneOf(kind)}; without a name one is given`,
      ...creating,
      extra: { ...creating.extra, ...(kind.detailedErrors ? { detailedErrors: name } : {}) },
      params: outside,
      query: asking({
        createIfNotExist: kind.createsIfMissing,
        force: kind.claims !== undefined,
        upload: kind.uploads,
      }),
      body: body('create'),
      bodyLimit,
      returns: kind.wire?.created?.shape ?? answer,
      errors: [...writing, 'already_exists', 'wrong_state', 'quota_exceeded', ...kind.createErrors],
    }),
    byExternalId: route(`GET ${collection}/by-external-id/:externalId`, {
      id: `${family}.getByExternalId`,
      summary: `Answers the newest live ${wordsOf(kind)} with that external id`,
      ...common('get'),
      params: texts([...outer, 'externalId']),
      query,
      returns: answer,
      errors: always,
    }),
  }
}

/** Endpoints of one resource. */
const declareOne = (kind: Kind) => {
  const { plural: family } = kind
  const { one, inside, common, answer, body, query, asking } = partsOf(kind)
  return {
    get: route(`GET ${one}`, {
      id: `${family}.get`,
      summary: `Answers one ${wordsOf(kind)}`,
      ...common('get'),
      params: inside,
      query: asking({ show_secrets: kind.showsSecrets }),
      returns: answer,
      errors: always,
    }),
    update: route(`PUT ${one}`, {
      id: `${family}.update`,
      summary: kind.upsert ? `Changes ${oneOf(kind)}, or creates it` : `Changes ${oneOf(kind)}`,
      ...common('update'),
      params: inside,
      query: asking({ upload: kind.uploads }),
      body: body('update'),
      bodyLimit,
      returns: answer,
      errors: [
        ...writing,
        'wrong_state',
        'changed_meanwhile',
        'already_exists',
        ...kind.createErrors.filter(error => error === 'no_room'),
      ],
    }),
    remove: route(`DELETE ${one}`, {
      id: `${family}.delete`,
      summary:
        kind.removal === 'immediate' ? `Deletes ${oneOf(kind)}` : `Deletes ${oneOf(kind)}; repeating it is harmless`,
      ...common('delete'),
      params: inside,
      query,
      ...(kind.removed?.body ? { returns: kind.removed.body.shape } : kind.removed ? {} : { returns: answer }),
      ...(kind.removed && !kind.removed.body
        ? { statuses: { [kind.removed.status]: 'Deleted; there is no body' } }
        : {}),
      errors: [
        ...always,
        'changed_meanwhile',
        'wrong_state',
        ...(kind.keptWhileReferenced ? (['in_use'] as const) : []),
      ],
    }),
  }
}

const paramsIn = (path: string): string[] => [...path.matchAll(/:(\w+)/g)].map(match => match[1] as string)

/** The endpoint of an action of the kind. */
const declareAction = (kind: Kind, action: Action) => {
  const { collection, one, outer, stated, answer } = partsOf(kind)
  const places = {
    record: { at: one, names: [...outer, paramOf(kind)] },
    collection: { at: collection, names: outer },
    workspace: { at: '/v0', names: [] },
  } as const
  const { at, names } = places[action.on]
  return route(`${action.method} ${at}/${action.path}`, {
    id: `${kind.plural}.${action.name}`,
    summary: action.summary,
    ...stated(action.access),
    params: texts([...names, ...paramsIn(action.path)]),
    query: s.object({ ...tenantQuery, ...action.query }),
    ...(action.statuses ? { statuses: action.statuses } : {}),
    ...(action.body ? { body: action.body, bodyLimit } : {}),
    returns: action.returns ?? answer,
    errors: [...(action.body ? writing : always), ...(action.errors ?? [])],
  })
}

/** Every endpoint of the kind, actions by their names. */
export const declarationsOf = (kind: Kind): Readonly<Record<string, Route>> => {
  const { list, listAcross, create, byExternalId } = declareMany(kind)
  const { get, update, remove } = declareOne(kind)
  const verbs = { list, create, get, update, delete: remove }
  return Object.fromEntries([
    ...kind.verbs.map(verb => [verb === 'delete' ? 'remove' : verb, verbs[verb]]),
    ...(kind.byExternalId ? [['byExternalId', byExternalId]] : []),
    ...(kind.listedAcross ? [['listAcross', listAcross]] : []),
    ...kind.actions.map(action => [action.name, declareAction(kind, action)]),
  ]) as Record<string, Route>
}

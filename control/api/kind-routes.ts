/** The endpoints of a kind, bound to what can be done with it. */
import { fail } from '../../shared/errors.ts'
import { handle, json, reply, type Bound, type Context } from '../../shared/route.ts'
import type { Actor, Crud } from '../resources/crud.ts'
import { ancestorsOf, paramOf, type Kind, type Verb } from '../resources/kind.ts'
import type { Gone } from '../resources/remove.ts'
import { declareAction, declareMany, declareOne } from './kind-declarations.ts'
import type { ListAsked } from './paging.ts'
import { factsOf } from './surface.ts'
import { pages } from './versions.ts'

const actorOf = (context: Context): Actor => factsOf(context).actor

type Params = Readonly<Record<string, string>>

const inside = (kind: Kind, params: Params) => ({
  parents: ancestorsOf(kind).map(ancestor => params[paramOf(ancestor)] as string),
})

/** The bound listing; `across` lists what is inside any parent. */
const listing = async (
  verbs: Crud,
  asked: { params: Params; query: ListAsked; across?: boolean },
  context: Context,
) => {
  const { kind } = verbs
  const { version } = factsOf(context)
  const { method, rawPath: path } = context.request
  if (kind.listedSince && version < kind.listedSince) throw fail('route_not_found', { method, path })
  const lite = !(kind.paginated && pages(version))
  const where = asked.across ? { across: true } : inside(kind, asked.params)
  const page = await verbs.list(actorOf(context), asked.query, { ...where, lite })
  return lite ? page.data : page
}

/** What a delete answers: the record's last form, unless the kind says otherwise. */
const goneAs = ({ removed }: Kind, { record, answered }: Gone) => {
  if (!removed) return answered
  if (removed.body) return json(removed.body.of(record), { status: removed.status })
  return reply(removed.status, removed.status === 204 ? {} : { 'content-length': '0' })
}

const collectionRoutes = (verbs: Crud): Record<'list' | 'create', Bound> => {
  const { kind } = verbs
  const declared = declareMany(kind)
  return {
    list: handle(declared.list, ({ params, query }, context) =>
      listing(verbs, { params, query: query as ListAsked }, context),
    ),
    create: handle(declared.create, ({ params, query, body }, context) => {
      const { createIfNotExist = false, force = false } = query as { createIfNotExist?: boolean; force?: boolean }
      return verbs.create(actorOf(context), body, { ...inside(kind, params), createIfNotExist, force })
    }),
  }
}

const recordRoutes = (verbs: Crud): Record<'get' | 'update' | 'delete', Bound> => {
  const { kind } = verbs
  const declared = declareOne(kind)
  const nameIn = (params: Params) => params[paramOf(kind)] as string
  return {
    get: handle(declared.get, ({ params, query }, context) => {
      const { show_secrets: showSecrets = false } = query as { show_secrets?: boolean }
      return verbs.get(actorOf(context), nameIn(params), { ...inside(kind, params), showSecrets })
    }),
    update: handle(declared.update, ({ params, body }, context) =>
      verbs.update(actorOf(context), nameIn(params), body, inside(kind, params)),
    ),
    delete: handle(declared.remove, async ({ params }, context) =>
      goneAs(kind, await verbs.remove(actorOf(context), nameIn(params), inside(kind, params))),
    ),
  }
}

const actionRoutes = (verbs: Crud): Bound[] => {
  const { kind } = verbs
  return kind.actions.map(action =>
    handle(declareAction(kind, action), ({ params, body }, context) => {
      const asked = { actor: actorOf(context), params, body }
      const name = action.on === 'record' ? (params[paramOf(kind)] as string) : undefined
      return verbs.act(action, asked, inside(kind, params), name)
    }),
  )
}

/** Listings by something else than the kind's own path. */
const furtherRoutes = (verbs: Crud): Bound[] => {
  const { kind } = verbs
  const { byExternalId, listAcross } = declareMany(kind)
  return [
    ...(kind.byExternalId
      ? [
          handle(byExternalId, ({ params }, context) =>
            verbs.getByExternalId(actorOf(context), params['externalId'] as string),
          ),
        ]
      : []),
    ...(kind.listedAcross
      ? [
          handle(listAcross, ({ query }, context) =>
            listing(verbs, { params: {}, query: query as ListAsked, across: true }, context),
          ),
        ]
      : []),
  ]
}

/** The bound endpoints of a kind. */
export const kindRoutes = (verbs: Crud): Bound[] => {
  const all: Record<Verb, Bound> = { ...collectionRoutes(verbs), ...recordRoutes(verbs) }
  return [...verbs.kind.verbs.map(verb => all[verb]), ...furtherRoutes(verbs), ...actionRoutes(verbs)]
}

/** The endpoints of a kind, bound to what can be done with it. */
import { handle, type Bound, type Context } from '../../shared/route.ts'
import type { Actor, Crud, ResourceInput } from '../resources/crud.ts'
import { ancestorsOf, paramOf } from '../resources/kind.ts'
import { declareKind } from './kind-declarations.ts'
import { factsOf } from './surface.ts'
import { pages } from './versions.ts'

const actorOf = (context: Context): Actor => factsOf(context).actor

/** The bound endpoints of a kind. */
export const kindRoutes = (verbs: Crud): Bound[] => {
  const { kind } = verbs
  const declared = declareKind(kind)
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

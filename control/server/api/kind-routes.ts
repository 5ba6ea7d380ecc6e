/** The endpoints of a kind, bound to what can be done with it. */
import { fail } from '../../../shared/errors.ts'
import { handle, json, reply, type Bound, type Context, type Route } from '../../../shared/route.ts'
import type { Actor, Crud } from '../../core/records/crud.ts'
import { ancestorsOf, paramOf } from '../../core/records/address.ts'
import type { Kind } from '../../core/records/kind.ts'
import type { Gone } from '../../core/records/remove.ts'
import { declarationsOf } from './kind-declarations.ts'
import type { ListAsked } from './paging.ts'
import { factsOf } from './surface.ts'
import { pages } from './versions.ts'

const actorOf = (context: Context): Actor => factsOf(context).actor

/** A request as its declaration has parsed it. */
interface Asked {
  readonly params: Readonly<Record<string, string>>
  readonly query: ListAsked & {
    readonly createIfNotExist?: boolean
    readonly force?: boolean
    readonly show_secrets?: boolean
  }
  readonly body: unknown
}

type Answering = (verbs: Crud, asked: Asked, context: Context) => unknown

const inside = ({ kind }: Crud, { params }: Asked) => ({
  parents: ancestorsOf(kind).map(ancestor => params[paramOf(ancestor)] as string),
})

const nameIn = ({ kind }: Crud, { params }: Asked): string => params[paramOf(kind)] as string

const list = async (verbs: Crud, asked: Asked, context: Context, across = false) => {
  const { kind } = verbs
  const { version, warn } = factsOf(context)
  const { method, rawPath: path } = context.request
  if (kind.listedSince && version < kind.listedSince) throw fail('route_not_found', { method, path })
  const lite = !(kind.paginated && pages(version))
  const where = across ? { across } : inside(verbs, asked)
  const { unreadable, ...page } = await verbs.list(actorOf(context), asked.query, { ...where, lite })
  const body = lite ? page.data : page
  if (unreadable.length === 0) return body
  return json(body, { headers: warn(unreadable.map(name => ({ path: name, says: 'cannot be read' }))) })
}

/** What a delete answers: the record's last form, unless the kind says otherwise. */
const goneAs = ({ removed }: Kind, { record, answered }: Gone) => {
  if (!removed) return answered
  if (removed.body) return json(removed.body.of(record), { status: removed.status })
  return reply(removed.status, removed.status === 204 ? {} : { 'content-length': '0' })
}

/** A client that means to upload something is told before it tries, whatever the kind. */
const noUploads = ({ request }: Context): void => {
  if (request.search.get('upload') === 'true')
    throw fail('invalid_argument', { field: 'upload', reason: 'this host takes no uploads yet' })
}

/** Who answers which declaration. */
const answering: Readonly<Record<string, Answering>> = {
  list,
  listAcross: (verbs, asked, context) => list(verbs, asked, context, true),
  create: (verbs, asked, context) => {
    const { createIfNotExist = false, force = false } = asked.query
    noUploads(context)
    return verbs.create(actorOf(context), asked.body, { ...inside(verbs, asked), createIfNotExist, force })
  },
  byExternalId: (verbs, { params }, context) => verbs.getByExternalId(actorOf(context), params['externalId'] as string),
  get: (verbs, asked, context) => {
    const { show_secrets: showSecrets = false } = asked.query
    return verbs.get(actorOf(context), nameIn(verbs, asked), { ...inside(verbs, asked), showSecrets })
  },
  update: (verbs, asked, context) => {
    noUploads(context)
    return verbs.update(actorOf(context), nameIn(verbs, asked), asked.body, inside(verbs, asked))
  },
  remove: async (verbs, asked, context) =>
    goneAs(verbs.kind, await verbs.remove(actorOf(context), nameIn(verbs, asked), inside(verbs, asked))),
}

const act =
  (name: string): Answering =>
  (verbs, asked, context) => {
    const action = verbs.kind.actions.find(one => one.name === name)
    if (!action) throw new Error(`${verbs.kind.kind} has no action "${name}"`)
    const { params, query, body } = asked
    const one = action.on === 'record' ? nameIn(verbs, asked) : undefined
    return verbs.act(action, { actor: actorOf(context), params, query, body }, inside(verbs, asked), one)
  }

/** The bound endpoints of a kind. */
export const kindRoutes = (verbs: Crud): Bound[] =>
  Object.entries(declarationsOf(verbs.kind)).map(([name, declared]) => {
    const answer = answering[name] ?? act(name)
    return handle(declared as Route, (asked, context) => answer(verbs, asked as Asked, context) as never)
  })

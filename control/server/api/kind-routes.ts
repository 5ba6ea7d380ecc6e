/** The endpoints of a kind, bound to what can be done with it. */
import { fail } from '../../../shared/errors.ts'
import { handle, json, reply, type Bound, type Context, type Route } from '../../../shared/route.ts'
import type { Builds } from '../../core/builds/builds.ts'
import type { Slot } from '../../core/transitions/slot.ts'
import type { Presented } from '../../core/records/present.ts'
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

type Answering = (verbs: Crud, asked: Asked, context: Context, uploading?: Uploading) => unknown

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

/** What answers are given for records that wait for an upload. */
export interface Uploading {
  readonly builds: Pick<Builds, 'slot' | 'url'>
  /** Names of the header that says where to send it. */
  readonly headers: readonly string[]
}

/** A place for the upload that a client asks for; undefined when it asks for none. Throws `invalid_argument` for a kind that takes none. */
const slotFor = ({ kind }: Crud, { request }: Context, uploading: Uploading | undefined): Slot | undefined => {
  if (request.search.get('upload') !== 'true') return undefined
  if (uploading && kind.imageAt) return uploading.builds.slot()
  throw fail('invalid_argument', { field: 'upload', reason: `a ${kind.kind} takes no uploads on this host` })
}

/** The answer, with the address of the upload. */
const withAddress = (
  { verbs, context, uploading }: { verbs: Crud; context: Context; uploading: Uploading | undefined },
  answered: Presented,
  slot: Slot | undefined,
) => {
  if (!slot || !uploading) return answered
  const { workspace } = actorOf(context)
  const { name } = answered.metadata as { name: string }
  const url = uploading.builds.url({ kind: verbs.kind.kind, workspace, parent: '', name }, slot)
  return json(answered, { headers: Object.fromEntries(uploading.headers.map(header => [header, url])) })
}

/** Who answers which declaration. */
const answering: Readonly<Record<string, Answering>> = {
  list: (verbs, asked, context) => list(verbs, asked, context),
  listAcross: (verbs, asked, context) => list(verbs, asked, context, true),
  create: async (verbs, asked, context, uploading) => {
    const { createIfNotExist = false, force = false } = asked.query
    const upload = slotFor(verbs, context, uploading)
    const where = inside(verbs, asked)
    // One that is there already waits for nothing.
    const isSure = createIfNotExist && !upload
    const made = await verbs.create(actorOf(context), asked.body, { ...where, createIfNotExist: isSure, force, upload })
    return withAddress({ verbs, context, uploading }, made, upload)
  },
  byExternalId: (verbs, { params }, context) => verbs.getByExternalId(actorOf(context), params['externalId'] as string),
  get: (verbs, asked, context) => {
    const { show_secrets: showSecrets = false } = asked.query
    return verbs.get(actorOf(context), nameIn(verbs, asked), { ...inside(verbs, asked), showSecrets })
  },
  update: async (verbs, asked, context, uploading) => {
    const upload = slotFor(verbs, context, uploading)
    const where = { ...inside(verbs, asked), upload }
    const changed = await verbs.update(actorOf(context), nameIn(verbs, asked), asked.body, where)
    return withAddress({ verbs, context, uploading }, changed, upload)
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
export const kindRoutes = (verbs: Crud, uploading?: Uploading): Bound[] =>
  Object.entries(declarationsOf(verbs.kind)).map(([name, declared]) => {
    const answer = answering[name] ?? act(name)
    return handle(declared as Route, (asked, context) => answer(verbs, asked as Asked, context, uploading) as never)
  })

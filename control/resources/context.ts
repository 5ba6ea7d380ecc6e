/** What the verbs of a kind share. */
import type { Clock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Transition } from '../reconcile/transition.ts'
import type { Key, Resource, Store, Written } from '../store/store.ts'
import type { Cursors } from '../wire/cursors.ts'
import { ancestorsOf, statusOf, type Found, type Kind } from './kind.ts'
import { present, type Presented } from './present.ts'

export interface CrudDeps {
  readonly store: Store
  readonly transition: Transition
  readonly clock: Clock
  readonly ids: Ids
  readonly cursors: Cursors
  /** Tells the runner that a resource changed or went; must not throw and must not wait. */
  poke(kind: string, uid: string): void
  /** Absolute address of the resource's data plane, without a trailing slash; undefined for kinds that have none. */
  url(resource: Resource): string | undefined
  /** Billing plan that metadata shows. */
  readonly plan: string
}

/** Who acts, and where. */
export interface Actor {
  readonly workspace: string
  /** Recorded in createdBy and updatedBy. */
  readonly name: string
  readonly admin: boolean
}

/** Names of what a resource lives inside, outermost first; none for kinds of their own. */
export interface Inside {
  readonly parents?: readonly string[] | undefined
}

export interface Context extends CrudDeps {
  readonly kind: Kind
}

/** Attempts at a change that others make at the same time before the caller is told. */
export const attempts = 5

export const pathTo = (parents: readonly string[] = []): string => parents.join('/')

export const keyOf = ({ kind }: Context, { workspace }: Actor, name: string, parents?: readonly string[]): Key => ({
  kind: kind.kind,
  workspace,
  parent: pathTo(parents),
  name,
})

export const withInstances = async ({ store }: Context, kind: Kind, record: Resource): Promise<Found> => ({
  record,
  instances: kind.workload ? await store.instances.ofOwner(record.uid) : [],
})

/** Throws `not_found`. */
export const find = async (context: Context, actor: Actor, name: string, inside: Inside): Promise<Found> => {
  const record = await context.store.resources.get(keyOf(context, actor, name, inside.parents))
  if (!record) throw fail('not_found', { kind: context.kind.kind, name })
  return withInstances(context, context.kind, record)
}

/** Throws `not_found` naming the first of the parents that is not there, or is over. */
export const needParents = async (context: Context, { workspace }: Actor, { parents = [] }: Inside): Promise<void> => {
  for (const [index, kind] of ancestorsOf(context.kind).entries()) {
    const name = parents[index] ?? ''
    const key = { kind: kind.kind, workspace, parent: pathTo(parents.slice(0, index)), name }
    const record = await context.store.resources.get(key)
    const found = record && (await withInstances(context, kind, record))
    if (!found || kind.hiddenStatuses.includes(statusOf(kind, found, context.clock.now())))
      throw fail('not_found', { kind: kind.kind, name })
  }
}

/** Whatever was written is looked at: what went first, for it may stand in the way of what came. */
export const pokeAll = ({ poke }: Context, { removed, resources }: Written): void => {
  for (const { kind, uid } of [...removed, ...resources]) poke(kind, uid)
}

/** The wire form of one resource, with its events. */
export const answer = async (context: Context, found: Found, showSecrets = false): Promise<Presented> => {
  const { kind, store, clock, poke, plan, url } = context
  const { record } = found
  const now = clock.now()
  // Time has decided what the loop has not seen yet.
  if (statusOf(kind, found, now) !== record.status) poke(kind.kind, record.uid)
  const events = await store.resources.events(record.uid)
  return present(kind, found, { showSecrets, now, plan, url: url(record), events })
}

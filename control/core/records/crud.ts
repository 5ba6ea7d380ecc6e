/**
 * What can be done with a resource of any kind. Knows no HTTP: the management API and the library are thin layers over it.
 * Every verb is one decision and one transaction; what takes time is left to the runner, which is poked.
 */
import type { Action, Asked } from './action.ts'
import {
  auditedBy,
  find,
  needParents,
  type Actor,
  type Context,
  type CrudDeps,
  type Inside,
  type Writing,
} from './context.ts'
import { create, type CreateOptions } from './create.ts'
import type { Kind } from './kind.ts'
import type { ListingOptions, ListQuery } from './list-query.ts'
import type { Page } from './listing.ts'
import type { Presented } from './present.ts'
import { get, getByExternalId, list, type GetOptions } from './read.ts'
import { remove, type Gone } from './remove.ts'
import { update } from './update.ts'

export type { Actor, CrudDeps } from './context.ts'

export interface Crud {
  readonly kind: Kind
  /** `body` is of the kind's shape. Throws `already_exists`, and what the kind says of the spec. */
  create(actor: Actor, body: unknown, options?: CreateOptions): Promise<Presented>
  get(actor: Actor, name: string, options?: GetOptions): Promise<Presented>
  getByExternalId(actor: Actor, externalId: string): Promise<Presented>
  list(actor: Actor, query: ListQuery, options?: ListingOptions): Promise<Page>
  update(actor: Actor, name: string, body: unknown, inside?: Writing): Promise<Presented>
  /** Repeating it is harmless: what is on its way out is answered as it is. */
  remove(actor: Actor, name: string, inside?: Inside): Promise<Gone>
  /** Does what the kind declares; to the record of that name, or to the collection. */
  act(action: Action, asked: Omit<Asked, 'found'>, inside: Inside, name?: string): Promise<unknown>
}

const act = async (
  context: Context,
  action: Action,
  asked: Omit<Asked, 'found'>,
  [inside, name]: readonly [Inside, string | undefined],
): Promise<unknown> => {
  const { actor } = asked
  if (action.on !== 'workspace') await needParents(context, actor, inside)
  const found = name === undefined ? undefined : await find(context, actor, name, inside)
  return action.run(context, { ...asked, ...(found ? { found } : {}) })
}

/** Whatever is written is written down as the actor's. */
const acting = (context: Context, actor: Actor): Context => {
  const by = auditedBy(actor)
  return { ...context, transition: { write: moves => context.transition.write(moves, by) } }
}

export const crud = (kind: Kind, deps: CrudDeps): Crud => {
  const context: Context = { ...deps, kind }
  return {
    kind,
    create: (actor, body, options) => create(acting(context, actor), actor, body, options),
    get: (actor, name, options) => get(context, actor, name, options),
    getByExternalId: (actor, externalId) => getByExternalId(context, actor, externalId),
    list: (actor, query, options) => list(context, actor, query, options),
    update: (actor, name, body, inside) => update(acting(context, actor), actor, name, body, inside),
    remove: (actor, name, inside) => remove(acting(context, actor), actor, name, inside),
    act: (action, asked, inside, name) => act(acting(context, asked.actor), action, asked, [inside, name]),
  }
}

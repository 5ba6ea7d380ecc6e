/**
 * What can be done with a resource of any kind. Knows no HTTP: the management API and the library are thin layers over it.
 * Every verb is one decision and one transaction; what takes time is left to the runner, which is poked.
 */
import type { ResourceInput } from './body.ts'
import type { Actor, Context, CrudDeps, Inside } from './context.ts'
import { create, type CreateOptions } from './create.ts'
import type { Kind } from './kind.ts'
import type { ListQuery, Page } from './listing.ts'
import type { Presented } from './present.ts'
import { get, getByExternalId, list, type GetOptions, type ListOptions } from './read.ts'
import { remove } from './remove.ts'
import { update } from './update.ts'

export type { ResourceInput } from './body.ts'
export type { Actor, CrudDeps } from './context.ts'

export interface Crud {
  readonly kind: Kind
  /** Throws `already_exists`, and what the kind says of the spec. */
  create(actor: Actor, input: ResourceInput, options?: CreateOptions): Promise<Presented>
  get(actor: Actor, name: string, options?: GetOptions): Promise<Presented>
  getByExternalId(actor: Actor, externalId: string): Promise<Presented>
  list(actor: Actor, query: ListQuery, options?: ListOptions): Promise<Page>
  update(actor: Actor, name: string, input: ResourceInput, inside?: Inside): Promise<Presented>
  /** Repeating it is harmless: what is on its way out is answered as it is. */
  remove(actor: Actor, name: string, inside?: Inside): Promise<Presented>
}

export const crud = (kind: Kind, deps: CrudDeps): Crud => {
  const context: Context = { ...deps, kind }
  return {
    kind,
    create: (actor, input, options) => create(context, actor, input, options),
    get: (actor, name, options) => get(context, actor, name, options),
    getByExternalId: (actor, externalId) => getByExternalId(context, actor, externalId),
    list: (actor, query, options) => list(context, actor, query, options),
    update: (actor, name, input, inside) => update(context, actor, name, input, inside),
    remove: (actor, name, inside) => remove(context, actor, name, inside),
  }
}

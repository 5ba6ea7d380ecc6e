/** What a caller asks of a listing, in the words of the store. */
import { fail } from '../../../shared/errors.ts'
import type { Listing, Sort } from '../store/store.ts'
import type { Binding } from '../../base/wire/cursors.ts'
import { pathTo, type Actor, type Inside } from './context.ts'
import { statusesOf, type Kind } from './kind.ts'

export interface ListQuery {
  readonly limit?: number | undefined
  /** Of versions before 2026-04-28. */
  readonly offset?: number | undefined
  readonly cursor?: string | undefined
  readonly sort?: Sort | undefined
  readonly q?: string | undefined
  /** Comma list, any case. */
  readonly status?: string | undefined
  readonly externalId?: string | undefined
  readonly showTerminated?: boolean | undefined
  /** Of kinds with `types`. */
  readonly type?: string | undefined
  /** Of listings across parents that say so: the name of one. */
  readonly sandbox?: string | undefined
  /** `end`: the last page. */
  readonly anchor?: 'end' | undefined
}

/** The statuses asked for; undefined when none or all are. Throws `invalid_argument` for one the kind does not have. */
const statusesIn = (kind: Kind, given: string | undefined): { named: boolean; statuses?: string[] } => {
  const wanted = [...new Set((given ?? '').split(',').map(part => part.trim().toUpperCase()))].filter(Boolean)
  const known = statusesOf(kind)
  const unknown = wanted.find(status => !known.includes(status))
  if (unknown !== undefined)
    throw fail('invalid_argument', { field: 'status', reason: `"${unknown}" is none of ${known.join(', ')}` })
  const all = wanted.length === known.length
  return { named: wanted.length > 0, ...(wanted.length > 0 && !all ? { statuses: wanted } : {}) }
}

const needle = (q: string | undefined): string | undefined => {
  const value = (q ?? '').trim().toLowerCase()
  return value.length < 2 ? undefined : value
}

export interface ListingOptions extends Inside {
  /** The shape before 2026-04-28: everything at once, or a part of it by `limit` and `offset`. */
  readonly lite?: boolean
  /** Those inside any parent. */
  readonly across?: boolean
}

/** A listing as asked for, in the words of the store. */
export interface Asked {
  readonly base: Omit<Listing, 'limit' | 'after'>
  /** Those that are over are left out. */
  readonly hide: boolean
  readonly lite: boolean
}

/** Throws `invalid_argument` naming the parameter. */
export const askedOf = (kind: Kind, { workspace }: Actor, query: ListQuery, options: ListingOptions): Asked => {
  const { lite = false } = options
  const { named, statuses } = statusesIn(kind, query.status)
  const filtering = !lite || kind.filterStatusOnEveryVersion
  const types = query.type ? kind.types?.(query.type) : undefined
  const hide = !(filtering && named) && !query.showTerminated && kind.hiddenStatuses.length > 0
  const q = lite ? undefined : needle(query.q)
  const base = {
    kind: kind.kind,
    workspace,
    ...(kind.parent && !options.across ? { parent: pathTo(options.parents) } : {}),
    ...(options.across && query.sandbox ? { parent: query.sandbox } : {}),
    ...(types ? { statuses: types } : filtering && statuses ? { statuses } : {}),
    ...(hide ? { exceptStatuses: kind.hiddenStatuses } : {}),
    ...(query.externalId ? { externalId: query.externalId } : {}),
    ...(q ? { q } : {}),
    sort: (lite ? undefined : query.sort) ?? kind.sort,
  }
  return { base, hide, lite }
}

/** Everything that shapes the answer except the page size; a cursor belongs to it. */
export const bindingOf = (kind: Kind, { base, hide }: Asked): Binding => ({
  list: kind.plural,
  workspace: base.workspace,
  parent: base.parent ?? '',
  sort: base.sort,
  q: base.q,
  status: base.statuses?.toSorted(),
  externalId: base.externalId,
  showTerminated: String(!hide),
})

/** One page of a kind, in the shape of either API version. */
import { fail } from '../../shared/errors.ts'
import type { Position, Resource, ResourceEvent, Sort } from '../store/store.ts'
import type { Actor, CrudDeps } from './actor.ts'
import type { Kind } from './kind.ts'
import { present, type Presented } from './present.ts'

export interface ListQuery {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
  readonly sort?: Sort | undefined
  readonly q?: string | undefined
  /** Comma list, any case. */
  readonly status?: string | undefined
  readonly externalId?: string | undefined
  readonly showTerminated?: boolean | undefined
  /** `end`: the last page. */
  readonly anchor?: 'end' | undefined
}

export interface Page {
  readonly data: Presented[]
  readonly meta: { readonly hasMore: boolean; readonly nextCursor: string; readonly total: number }
}

const maxLimit = 200

/** Rows per query when everything is wanted. */
const chunk = 1000

/** The statuses asked for; undefined when none or all are. Throws `invalid_argument` for one the kind does not have. */
const statusesOf = (kind: Kind, given: string | undefined): { named: boolean; statuses?: string[] } => {
  const wanted = [...new Set((given ?? '').split(',').map(part => part.trim().toUpperCase()))].filter(Boolean)
  const unknown = wanted.find(status => !kind.statuses.includes(status))
  if (unknown !== undefined)
    throw fail('invalid_argument', {
      field: 'status',
      reason: `"${unknown}" is none of ${kind.statuses.join(', ')}`,
    })
  const all = wanted.length === kind.statuses.length
  return { named: wanted.length > 0, ...(wanted.length > 0 && !all ? { statuses: wanted } : {}) }
}

const needle = (q: string | undefined): string | undefined => {
  const value = (q ?? '').trim().toLowerCase()
  return value.length < 2 ? undefined : value
}

const reversed: Readonly<Record<Sort, Sort>> = {
  'createdAt:desc': 'createdAt:asc',
  'createdAt:asc': 'createdAt:desc',
  'name:asc': 'name:desc',
  'name:desc': 'name:asc',
}

const positionOf = (resource: Resource, sort: Sort): Position => ({
  value: sort.startsWith('name') ? resource.name : resource.createdAt,
  uid: resource.uid,
})

/**
 * Lists a kind. `lite` asks for the shape before 2026-04-28: everything at once, paging parameters ignored,
 * `status` checked but applied only where the kind says so.
 */
export const listing = async (
  kind: Kind,
  deps: CrudDeps,
  actor: Actor,
  query: ListQuery,
  options: { parent?: string; lite?: boolean },
): Promise<Page> => {
  const { store, clock, cursors } = deps
  const { parent = '', lite = false } = options
  const { workspace } = actor
  const { named, statuses } = statusesOf(kind, query.status)
  const filtering = !lite || kind.filterStatusOnEveryVersion
  const hide = !(filtering && named) && !query.showTerminated && kind.hiddenStatuses.length > 0
  const sort = (lite ? undefined : query.sort) ?? 'createdAt:desc'
  const q = lite ? undefined : needle(query.q)
  const base = {
    kind: kind.kind,
    workspace,
    ...(kind.parent ? { parent } : {}),
    ...(filtering && statuses ? { statuses } : {}),
    ...(hide ? { exceptStatuses: kind.hiddenStatuses } : {}),
    ...(query.externalId ? { externalId: query.externalId } : {}),
    ...(q ? { q } : {}),
    sort,
  }

  const render = async (items: readonly Resource[]): Promise<Presented[]> => {
    const now = clock.now()
    const shown = items.filter(
      item => !hide || !kind.statusAt || !kind.hiddenStatuses.includes(kind.statusAt(item, now)),
    )
    const events: (ResourceEvent[] | undefined)[] = kind.listsEvents
      ? await Promise.all(shown.map(item => store.resources.events(item.uid)))
      : []
    return shown.map((item, index) =>
      present(kind, item, {
        showSecrets: false,
        now,
        plan: deps.plan,
        url: deps.url(item),
        ...(events[index] ? { events: events[index] } : {}),
      }),
    )
  }

  if (lite) {
    const items: Resource[] = []
    for (let after: Position | undefined; ; ) {
      const page = await store.resources.list({ ...base, limit: chunk, ...(after ? { after } : {}) })
      items.push(...page.items)
      const last = page.items.at(-1)
      if (!page.hasMore || !last) break
      after = positionOf(last, sort)
    }
    return { data: await render(items), meta: { hasMore: false, nextCursor: '', total: items.length } }
  }

  const limit = Math.min(query.limit ?? 50, maxLimit)
  const total = await store.resources.count(kind.kind, workspace, kind.parent ? parent : undefined)
  if (query.anchor === 'end') {
    if (query.cursor || sort.startsWith('name'))
      throw fail('invalid_argument', { field: 'anchor', reason: 'goes with a createdAt sort and without a cursor' })
    const { items } = await store.resources.list({ ...base, sort: reversed[sort], limit })
    return { data: await render(items.toReversed()), meta: { hasMore: false, nextCursor: '', total } }
  }

  const binding = {
    list: kind.plural,
    workspace,
    parent,
    sort,
    q,
    status: statuses?.toSorted(),
    externalId: query.externalId || undefined,
    showTerminated: String(!hide),
  }
  const after = query.cursor ? (cursors.read(binding, query.cursor) as Position) : undefined
  const { items, hasMore } = await store.resources.list({ ...base, limit, ...(after ? { after } : {}) })
  const last = items.at(-1)
  const nextCursor = hasMore && last ? cursors.issue(binding, positionOf(last, sort)) : ''
  return { data: await render(items), meta: { hasMore: nextCursor !== '', nextCursor, total } }
}

/** One page of a kind, in the shape of either API version. */
import { fail } from '../../shared/errors.ts'
import type { Position, Resource, Sort } from '../store/store.ts'
import type { Actor, Context, Inside } from './context.ts'
import { askedOf, bindingOf, type Asked, type ListQuery } from './list-query.ts'
import { render } from './list-render.ts'
import type { Presented } from './present.ts'

export type { ListQuery } from './list-query.ts'

export interface Page {
  readonly data: Presented[]
  readonly meta: { readonly hasMore: boolean; readonly nextCursor: string; readonly total: number }
}

const maxLimit = 200

/** Rows per query when everything is wanted. */
const chunk = 1000

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

const everything = async (context: Context, { base, hide }: Asked): Promise<Page> => {
  const items: Resource[] = []
  for (let after: Position | undefined; ; ) {
    const page = await context.store.resources.list({ ...base, limit: chunk, ...(after ? { after } : {}) })
    items.push(...page.items)
    const last = page.items.at(-1)
    if (!page.hasMore || !last) break
    after = positionOf(last, base.sort)
  }
  const meta = { hasMore: false, nextCursor: '', total: items.length }
  return { data: await render(context, hide, items), meta }
}

const lastPage = async (
  context: Context,
  { base, hide }: Asked,
  limit: number,
  query: ListQuery,
): Promise<Presented[]> => {
  const { sort } = base
  if (query.cursor || sort.startsWith('name'))
    throw fail('invalid_argument', { field: 'anchor', reason: 'goes with a createdAt sort and without a cursor' })
  const { items } = await context.store.resources.list({ ...base, sort: reversed[sort], limit })
  return render(context, hide, items.toReversed())
}

/**
 * Lists a kind. `lite` asks for the shape before 2026-04-28: everything at once, paging parameters ignored,
 * `status` checked but applied only where the kind says so.
 */
export const listing = async (
  context: Context,
  actor: Actor,
  query: ListQuery,
  options: Inside & { lite?: boolean },
): Promise<Page> => {
  const { kind, store, cursors } = context
  const asked = askedOf(context.kind, actor, query, options)
  const { base, hide, lite } = asked
  if (lite) return everything(context, asked)
  const limit = Math.min(query.limit ?? 50, maxLimit)
  const total = await store.resources.count(kind.kind, base.workspace, base.parent)
  if (query.anchor === 'end') {
    const data = await lastPage(context, asked, limit, query)
    return { data, meta: { hasMore: false, nextCursor: '', total } }
  }
  const binding = bindingOf(kind, asked)
  const after = query.cursor ? (cursors.read(binding, query.cursor) as Position) : undefined
  const { items, hasMore } = await store.resources.list({ ...base, limit, ...(after ? { after } : {}) })
  const last = items.at(-1)
  const nextCursor = hasMore && last ? cursors.issue(binding, positionOf(last, base.sort)) : ''
  return { data: await render(context, hide, items), meta: { hasMore: nextCursor !== '', nextCursor, total } }
}

/** One page of a kind, in the shape of either API version. */
import { fail } from '../../shared/errors.ts'
import type { Position, Resource, Sort } from '../store/store.ts'
import type { Actor, Context } from './context.ts'
import { implied } from './implied.ts'
import { askedOf, bindingOf, type Asked, type ListingOptions, type ListQuery } from './list-query.ts'
import { render } from './list-render.ts'
import type { Kind } from './kind.ts'
import type { Presented } from './present.ts'

export type { ListQuery } from './list-query.ts'

export interface Page {
  readonly data: Presented[]
  readonly meta: { readonly hasMore: boolean; readonly nextCursor: string; readonly total: number }
}

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

/** Those that are there without a row. */
const unwritten = async (
  { kind, store }: Context,
  { workspace, parent = '' }: Asked['base'],
  rows: readonly Resource[],
) => {
  const names = (kind.implicit ?? []).filter(name => !rows.some(row => row.name === name))
  const found = await Promise.all(names.map(name => implied(store, kind, { kind: kind.kind, workspace, parent, name })))
  return found.filter(one => one !== undefined)
}

const everything = async (context: Context, { base, hide }: Asked): Promise<Page> => {
  const items: Resource[] = []
  for (let after: Position | undefined; ; ) {
    const page = await context.store.resources.list({ ...base, limit: chunk, ...(after ? { after } : {}) })
    items.push(...page.items)
    const last = page.items.at(-1)
    if (!page.hasMore || !last) break
    after = positionOf(last, base.sort)
  }
  items.push(...(await unwritten(context, base, items)))
  const meta = { hasMore: false, nextCursor: '', total: items.length }
  return { data: await render(context, hide, items), meta }
}

/** So many from there on, as older versions page. */
const part = async (context: Context, { base, hide }: Asked, limit: number, offset: number): Promise<Page> => {
  const { items, hasMore } = await context.store.resources.list({ ...base, limit, offset })
  return { data: await render(context, hide, items), meta: { hasMore, nextCursor: '', total: items.length } }
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

const pageItems = (kind: Kind, items: Presented[]): Presented[] =>
  kind.pageItem ? items.map(item => kind.pageItem?.(item) as Presented) : items

/**
 * Lists a kind. `lite` asks for the shape before 2026-04-28: everything at once, paging parameters ignored,
 * `status` checked but applied only where the kind says so.
 */
export const listing = async (
  context: Context,
  actor: Actor,
  query: ListQuery,
  options: ListingOptions,
): Promise<Page> => {
  const { kind, store, cursors } = context
  const asked = askedOf(context.kind, actor, query, options)
  const { base, hide, lite } = asked
  const limit = Math.min(query.limit ?? kind.pageLimit.fallback, kind.pageLimit.max)
  if (lite) return kind.olderOffset ? part(context, asked, limit, query.offset ?? 0) : everything(context, asked)
  const total = await store.resources.count(kind.kind, base.workspace, base.parent)
  if (query.anchor === 'end') {
    const data = await lastPage(context, asked, limit, query)
    return { data: pageItems(kind, data), meta: { hasMore: false, nextCursor: '', total } }
  }
  const binding = bindingOf(kind, asked)
  const after = query.cursor ? (cursors.read(binding, query.cursor) as Position) : undefined
  const { items, hasMore } = await store.resources.list({ ...base, limit, ...(after ? { after } : {}) })
  const last = items.at(-1)
  const nextCursor = hasMore && last ? cursors.issue(binding, positionOf(last, base.sort)) : ''
  const data = pageItems(kind, await render(context, hide, items))
  return { data, meta: { hasMore: nextCursor !== '', nextCursor, total } }
}

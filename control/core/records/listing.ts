/** One page of a kind, in the shape of either API version. */
import { fail } from '../../../shared/errors.ts'
import type { Listed, Position, Resource, Sort } from '../store/store.ts'
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
  /** Names of those that cannot be read, wholly or the rows of their machines: left out, or shown without their machines. */
  readonly unreadable: readonly string[]
}

/** Rows per query when everything is wanted. */
const chunk = 1000

const reversed: Readonly<Record<Sort, Sort>> = {
  'createdAt:desc': 'createdAt:asc',
  'createdAt:asc': 'createdAt:desc',
  'name:asc': 'name:desc',
  'name:desc': 'name:asc',
}

/** Those that are there without a row. */
const unwritten = async (
  { kind, store }: Context,
  { workspace, parent = '' }: Asked['base'],
  written: readonly string[],
) => {
  const names = (kind.implicit ?? []).filter(name => !written.includes(name))
  const found = await Promise.all(names.map(name => implied(store, kind, { kind: kind.kind, workspace, parent, name })))
  return found.filter(one => one !== undefined)
}

/** Rows as they are answered, and which of them could not be read. */
const shown = async (context: Context, hide: boolean, { items, unreadable }: Pick<Listed, 'items' | 'unreadable'>) => {
  const rendered = await render(context, hide, items)
  return { data: rendered.data, unreadable: [...unreadable, ...rendered.unreadable] }
}

const everything = async (context: Context, { base, hide }: Asked): Promise<Page> => {
  const items: Resource[] = []
  const unreadable: string[] = []
  for (let after: Position | undefined; ; ) {
    const page = await context.store.resources.list({ ...base, limit: chunk, ...(after ? { after } : {}) })
    items.push(...page.items)
    unreadable.push(...page.unreadable)
    if (!page.hasMore || !page.last) break
    after = page.last
  }
  items.push(...(await unwritten(context, base, [...items.map(({ name }) => name), ...unreadable])))
  const meta = { hasMore: false, nextCursor: '', total: items.length }
  return { ...(await shown(context, hide, { items, unreadable })), meta }
}

/** So many from there on, as older versions page. */
const part = async (context: Context, { base, hide }: Asked, limit: number, offset: number): Promise<Page> => {
  const found = await context.store.resources.list({ ...base, limit, offset })
  const meta = { hasMore: found.hasMore, nextCursor: '', total: found.items.length }
  return { ...(await shown(context, hide, found)), meta }
}

const lastPage = async (context: Context, { base, hide }: Asked, limit: number, query: ListQuery) => {
  const { sort } = base
  if (query.cursor || sort.startsWith('name'))
    throw fail('invalid_argument', { field: 'anchor', reason: 'goes with a createdAt sort and without a cursor' })
  const { items, unreadable } = await context.store.resources.list({ ...base, sort: reversed[sort], limit })
  return shown(context, hide, { items: items.toReversed(), unreadable })
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
    const { data, unreadable } = await lastPage(context, asked, limit, query)
    return { data: pageItems(kind, data), meta: { hasMore: false, nextCursor: '', total }, unreadable }
  }
  const binding = bindingOf(kind, asked)
  const after = query.cursor ? (cursors.read(binding, query.cursor) as Position) : undefined
  const found = await store.resources.list({ ...base, limit, ...(after ? { after } : {}) })
  const nextCursor = found.hasMore && found.last ? cursors.issue(binding, found.last) : ''
  const { data, unreadable } = await shown(context, hide, found)
  return { data: pageItems(kind, data), meta: { hasMore: nextCursor !== '', nextCursor, total }, unreadable }
}

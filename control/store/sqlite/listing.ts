/**
 * Pages of a listing. Every page is a range of an index that holds the rows in the order asked for, whatever the
 * table's size: a filter on statuses reads one range for each and merges them.
 */
import type { Database } from 'better-sqlite3'
import { sql } from 'kysely'
import type { Listing, Resource } from '../store.ts'
import { query, shaped, type Prepare } from './prepared.ts'
import { toResource } from './rows.ts'
import type { ResourceRow } from './tables.ts'

interface Order {
  readonly column: 'created_at' | 'name'
  readonly direction: 'asc' | 'desc'
}

const orders: Readonly<Record<Listing['sort'], Order>> = {
  'createdAt:desc': { column: 'created_at', direction: 'desc' },
  'createdAt:asc': { column: 'created_at', direction: 'asc' },
  'name:asc': { column: 'name', direction: 'asc' },
  'name:desc': { column: 'name', direction: 'desc' },
}

/** One range: the listing narrowed to a single status, or to any. One row more than the limit shows that more follow. */
const rangeOf = (listing: Listing, status: string | undefined) => {
  const { kind, workspace, parent, externalId, q, after, limit } = listing
  const { column, direction } = orders[listing.sort]
  let range = query
    .selectFrom('resources')
    .selectAll()
    .where('kind', '=', kind)
    .where('workspace', '=', workspace)
    .orderBy(column, direction)
    .orderBy('uid', direction)
    .limit(limit + 1)
  // Nearly every resource has the parent '': the unary plus keeps that from looking selective to the planner.
  if (parent === '') range = range.where(sql<boolean>`+parent = ''`)
  else if (parent !== undefined) range = range.where('parent', '=', parent)
  if (externalId !== undefined) range = range.where('external_id', '=', externalId)
  if (status !== undefined) range = range.where('status', '=', status)
  if (q) range = range.where(sql<boolean>`instr(search, ${q}) > 0`)
  if (after) {
    const beyond = sql.raw(direction === 'asc' ? '>' : '<')
    range = range.where(sql<boolean>`(${sql.ref(column)}, uid) ${beyond} (${after.value}, ${after.uid})`)
  }
  return range
}

// SQLite compares text by its UTF-8 bytes, JavaScript by UTF-16 units: they differ beyond the BMP only.
const compareText = (a: string, b: string): number => (a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b)))

const comparing = ({ column, direction }: Order) => {
  const sign = direction === 'asc' ? 1 : -1
  return (a: ResourceRow, b: ResourceRow): number => {
    const first = column === 'name' ? compareText(a.name, b.name) : a.created_at - b.created_at
    return sign * (first || compareText(a.uid, b.uid))
  }
}

/** Must run inside a transaction: the ranges are read one after the other. */
export const lister = (db: Database, prepare: Prepare) => {
  const run = shaped(db)
  // Hops from one status to the next in the index: as many steps as there are statuses.
  const statuses = prepare((given: { kind: string; workspace: string }) => ({
    compile: provider =>
      sql<{ status: string }>`
        WITH RECURSIVE present (status) AS (
          SELECT min(status) FROM resources WHERE kind = ${given.kind} AND workspace = ${given.workspace}
          UNION ALL
          SELECT (SELECT min(status) FROM resources
                  WHERE kind = ${given.kind} AND workspace = ${given.workspace} AND status > present.status)
          FROM present WHERE status IS NOT NULL
        )
        SELECT status FROM present WHERE status IS NOT NULL`.compile(provider),
  }))
  return (listing: Listing): { items: Resource[]; hasMore: boolean } => {
    const { kind, workspace, limit } = listing
    const wanted = listing.statuses && new Set(listing.statuses)
    const unwanted = new Set(listing.exceptStatuses)
    const filtered = wanted !== undefined || unwanted.size > 0
    const ranges = filtered
      ? statuses
          .all({ kind, workspace })
          .map(row => row.status)
          .filter(status => !unwanted.has(status) && (wanted?.has(status) ?? true))
      : [undefined]
    const rows = ranges.flatMap(status => run(rangeOf(listing, status)))
    if (ranges.length > 1) rows.sort(comparing(orders[listing.sort]))
    return { items: rows.slice(0, limit).map(toResource), hasMore: rows.length > limit }
  }
}

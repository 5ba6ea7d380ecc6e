/**
 * Pages of a listing. Every page is a range of an index that holds the rows in the order asked for, whatever the
 * table's size: a filter on statuses reads one range for each and merges them.
 */
import type { Database } from 'better-sqlite3'
import { sql } from 'kysely'
import type { Listed, Listing } from '../store.ts'
import { query, shaped, type Prepare } from './prepared.ts'
import { readEach } from './read-json.ts'
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

/** Few resources share a parent or an external id: those are found by it, and their statuses looked at one by one. */
const isNarrow = ({ parent, externalId }: Listing): boolean => Boolean(parent) || externalId !== undefined

// A unary plus keeps a condition or an order from steering the planner to an index.
const loosely = (column: string) => sql`+${sql.ref(column)}`

/** One range of an index, of one status or of any. One row more than the limit shows that more follow. */
const rangeOf = (listing: Listing, statuses: readonly string[] | undefined) => {
  const { kind, workspace, parent, externalId, q, after, limit, offset = 0 } = listing
  const { column, direction } = orders[listing.sort]
  let range = query
    .selectFrom('resources')
    .selectAll()
    .where('kind', '=', kind)
    .where('workspace', '=', workspace)
    .orderBy(externalId === undefined ? sql.ref(column) : loosely(column), direction)
    .orderBy('uid', direction)
    .limit(limit + 1)
  if (offset > 0) range = range.offset(offset)
  if (externalId !== undefined) range = range.where('external_id', '=', externalId)
  if (parent && externalId === undefined) range = range.where('parent', '=', parent)
  else if (parent !== undefined) range = range.where(sql<boolean>`${loosely('parent')} = ${parent}`)
  if (statuses && isNarrow(listing))
    range = range.where(
      sql<boolean>`${loosely('status')} IN (SELECT value FROM json_each(${JSON.stringify(statuses)}))`,
    )
  else if (statuses) range = range.where('status', '=', statuses[0] as string)
  if (q) range = range.where(sql<boolean>`instr(search, ${q}) > 0`)
  if (after) {
    const beyond = sql.raw(direction === 'asc' ? '>' : '<')
    const [place, uid] =
      externalId === undefined ? [sql.ref(column), sql.ref('uid')] : [loosely(column), loosely('uid')]
    range = range.where(sql<boolean>`(${place}, ${uid}) ${beyond} (${after.value}, ${after.uid})`)
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
  return (listing: Listing): Listed => {
    const { kind, workspace, limit } = listing
    const wanted = listing.statuses && new Set(listing.statuses)
    const unwanted = new Set(listing.exceptStatuses)
    const filtered = wanted !== undefined || unwanted.size > 0
    const kept = () =>
      statuses
        .all({ kind, workspace })
        .map(row => row.status)
        .filter(status => !unwanted.has(status) && (wanted?.has(status) ?? true))
    const ranges = !filtered ? [undefined] : isNarrow(listing) ? [kept()] : kept().map(status => [status])
    const rows = ranges.flatMap(range => run(rangeOf(listing, range)))
    if (ranges.length > 1) rows.sort(comparing(orders[listing.sort]))
    const page = rows.slice(0, limit)
    const unreadable: string[] = []
    const items = readEach(page, toResource, ({ name }) => void unreadable.push(name))
    const last = page.at(-1)
    return {
      items,
      hasMore: rows.length > limit,
      ...(last ? { last: { value: last[orders[listing.sort].column], uid: last.uid } } : {}),
      unreadable,
    }
  }
}

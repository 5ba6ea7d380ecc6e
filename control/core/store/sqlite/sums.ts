/** The queries behind a usage report. */
import { sql } from 'kysely'
import type { UsageQuery } from '../store.ts'
import { coarseGroup, group, isNarrowed, limbSums, limbs, subjectsOf, workspacesOf, type Columns } from './columns.ts'
import { query } from './prepared.ts'
import { hourMs, type Range } from './ranges.ts'
import type { Grain } from './tables.ts'

/** Sums over all subjects of a type: for reports that tell no resource apart. */
export const fromTotals = (asked: UsageQuery, columns: Columns, range: Range) => {
  const { resourceType, billingDimension } = asked
  let sums = query
    .selectFrom('totals')
    .innerJoin('dimensions', 'dimensions.id', 'totals.dimension')
    .where('grain', '=', range.grain as Grain)
    .where('workspace', 'in', workspacesOf(asked))
    .where('start', '>=', range.from)
    .where('start', '<', range.to)
  if (resourceType !== undefined) sums = sums.where('resource_type', '=', resourceType)
  if (billingDimension !== undefined) sums = sums.where('dimensions.name', '=', billingDimension)
  return sums
    .select(coarseGroup(columns))
    .select('dimensions.name as dimension')
    .select(limbSums())
    .groupBy(sql`1, 2, 5`)
}

/** Sums per resource. They are added up by number first and named afterwards. */
export const fromRollups = (asked: UsageQuery, columns: Columns, range: Range) => {
  const { resourceType, billingDimension } = asked
  let perSubject = query
    .selectFrom('rollups')
    .where('start', '>=', range.from)
    .where('start', '<', range.to)
    .select(['subject', 'dimension'])
    .select(limbSums())
    .groupBy(['subject', 'dimension'])
  // The unary plus keeps the planner from taking the grain alone for a way into the table.
  perSubject = isNarrowed(asked)
    ? perSubject.where('subject', 'in', subjectsOf(asked)).where(sql<boolean>`+grain = ${range.grain}`)
    : perSubject.where('workspace', 'in', workspacesOf(asked)).where('grain', '=', range.grain as Grain)
  let sums = query
    .selectFrom(perSubject.as('sums'))
    .innerJoin('subjects', 'subjects.id', 'sums.subject')
    .innerJoin('dimensions', 'dimensions.id', 'sums.dimension')
  if (resourceType !== undefined) sums = sums.where('resource_type', '=', resourceType)
  if (billingDimension !== undefined) sums = sums.where('dimensions.name', '=', billingDimension)
  return sums.select(group(columns)).select(['dimensions.name as dimension', 'high', 'low'])
}

/**
 * A piece of one hour. The rollups say who used anything in that hour; of each of those only the intervals that reach
 * into the piece are read: intervals of a subject and dimension do not overlap, so the earliest of them is the last
 * one to start before the piece. The bounds are bound as bigint, because a number would turn the sum into a float.
 */
export const fromHour = (asked: UsageQuery, columns: Columns, { from, to }: Range) => {
  const { resourceType, billingDimension } = asked
  let sums = query
    .selectFrom('rollups')
    .innerJoin('subjects', 'subjects.id', 'rollups.subject')
    .innerJoin('dimensions', 'dimensions.id', 'rollups.dimension')
    .innerJoin('intervals', join =>
      join
        .onRef('intervals.subject', '=', 'rollups.subject')
        .onRef('intervals.dimension', '=', 'rollups.dimension')
        .on('intervals.from_at', '<', to)
        .on('intervals.rolled_to', '>', from)
        .on(
          sql<boolean>`intervals.from_at >= coalesce((
            SELECT max(earlier.from_at) FROM intervals AS earlier
            WHERE earlier.subject = rollups.subject AND earlier.dimension = rollups.dimension
              AND earlier.from_at <= ${from}
          ), ${from})`,
        ),
    )
    .where('rollups.grain', '=', 0)
    .where('rollups.start', '=', Math.floor(from / hourMs) * hourMs)
  sums = isNarrowed(asked)
    ? sums.where('rollups.subject', 'in', subjectsOf(asked))
    : sums.where('rollups.workspace', 'in', workspacesOf(asked))
  if (resourceType !== undefined) sums = sums.where('resource_type', '=', resourceType)
  if (billingDimension !== undefined) sums = sums.where('dimensions.name', '=', billingDimension)
  return sums
    .select(group(columns))
    .select('dimensions.name as dimension')
    .select(limbs(sql<number>`(quantity * (min(rolled_to, ${BigInt(to)}) - max(from_at, ${BigInt(from)})))`))
    .groupBy(sql`1, 2, 3, 4, 5`)
}

/** What the rollups do not have yet: the running end of open intervals, and those closed since the last checkpoint. */
export const notRolled = (asked: UsageQuery, columns: Columns, now: number) => {
  const { resourceType, billingDimension } = asked
  let tails = query
    .selectFrom('intervals')
    .innerJoin('subjects', 'subjects.id', 'intervals.subject')
    .innerJoin('dimensions', 'dimensions.id', 'intervals.dimension')
    .where(sql<boolean>`(to_at IS NULL OR rolled_to < to_at)`)
    .where('subjects.workspace', 'in', workspacesOf(asked))
    .where(sql<boolean>`max(rolled_to, ${asked.from}) < min(coalesce(to_at, ${now}), ${asked.to})`)
  if (isNarrowed(asked)) tails = tails.where('subject', 'in', subjectsOf(asked))
  if (resourceType !== undefined) tails = tails.where('resource_type', '=', resourceType)
  if (billingDimension !== undefined) tails = tails.where('dimensions.name', '=', billingDimension)
  return tails
    .select(group(columns))
    .select([
      'dimensions.name as dimension',
      'quantity',
      sql<number>`max(rolled_to, ${asked.from})`.as('from'),
      sql<number>`min(coalesce(to_at, ${now}), ${asked.to})`.as('to'),
    ])
}

/** Start of the first month that any rollup is of; nothing rolled is older. */
export const firstMonth = (asked: UsageQuery) =>
  query
    .selectFrom('totals')
    .where('grain', '=', 2)
    .where('workspace', 'in', workspacesOf(asked))
    .select(({ fn }) => fn.min('start').as('start'))

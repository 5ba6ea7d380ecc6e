import { fail } from '../../../shared/errors.ts'
import type { Out } from '../../../shared/schema.ts'
import {
  type accountMetrics,
  groupings,
  parseUtcTime,
  type Grouping,
  type Resolution,
} from '../../../shared/wire/billing.ts'
import type { UsageQuery } from '../store/store.ts'
import { bucketsOf, resolutionOf, type Window } from './window.ts'

/** Who asks; found out by authentication. */
export interface Caller {
  /** Account id. */
  readonly account: string
  readonly accountAdmin: boolean
  /** Name of the one workspace that it is told of; absent for one that reaches all of the account. */
  readonly workspace?: string
}

export type MetricsQuery = Out<typeof accountMetrics.query>

/** A query that has been checked and completed. */
export interface Question {
  readonly window: Window
  readonly resolution: Resolution
  readonly usage: UsageQuery
  /** Groups on a page at most. */
  readonly limit: number
}

/** Canonical order: the order of the request means nothing. */
const groupingOf = (groupBy: string | undefined): Grouping[] => {
  if (groupBy === undefined) return []
  const refuse = (reason: string) => fail('invalid_argument', { field: 'groupBy', reason })
  const names = groupBy.split(',').map(name => name.trim())
  for (const name of names) {
    if (name === 'label' || name === 'unit') throw refuse(`"${name}" is not supported`)
    if (!groupings.includes(name as Grouping)) throw refuse(`"${name}" is not one of ${groupings.join(', ')}`)
  }
  if (new Set(names).size < names.length) throw refuse('names a dimension twice')
  if (names.length > 3) throw refuse('takes at most 3 dimensions')
  return groupings.filter(name => names.includes(name))
}

/** Throws `invalid_argument` unless endTime is after startTime. */
export const windowOf = ({ startTime, endTime }: { startTime: string; endTime: string }): Window => {
  const from = parseUtcTime(startTime) ?? 0
  const to = parseUtcTime(endTime) ?? 0
  if (to <= from) throw fail('invalid_argument', { field: 'endTime', reason: 'must be after startTime' })
  return { from, to }
}

/** A page answers with this many cells at most, so that a window of centuries stays an answer and not an attack. */
const cellLimit = 200_000

/** Throws `forbidden` for what only account admins may see. */
export const questionOf = (caller: Caller, query: MetricsQuery): Question => {
  const { workspace, resourceType, resourceName, resourceUuid, billingDimension } = query
  const groupBy = groupingOf(query.groupBy)
  const window = windowOf(query)
  const resolution = resolutionOf(window, query.resolution)
  if (!caller.accountAdmin && (workspace !== undefined || groupBy.includes('workspace')))
    throw fail('forbidden', { reason: 'Access denied' })
  const about = caller.workspace ?? workspace
  const buckets = bucketsOf(window, resolution)
  return {
    window,
    resolution,
    limit: Math.max(1, Math.min(query.limit ?? 100, 100, Math.floor(cellLimit / buckets.length))),
    usage: {
      account: caller.account,
      ...window,
      buckets,
      groupBy,
      ...(about === undefined ? {} : { workspace: about }),
      ...(resourceType === undefined ? {} : { resourceType }),
      ...(resourceName === undefined ? {} : { resourceName }),
      ...(resourceUuid === undefined ? {} : { resourceUuid }),
      ...(billingDimension === undefined ? {} : { billingDimension }),
    },
  }
}

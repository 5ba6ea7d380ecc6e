import { sql, type RawBuilder } from 'kysely'
import type { Grouping } from '../../../../shared/wire/billing.ts'
import type { UsageQuery } from '../store.ts'
import { query } from './prepared.ts'

/** What a row of a report tells apart. */
export interface Columns {
  readonly workspace: boolean
  readonly type: boolean
  readonly name: boolean
  readonly uid: boolean
}

export const columnsOf = (groupBy: readonly Grouping[]): Columns => {
  const by = (...groupings: Grouping[]) => groupings.some(grouping => groupBy.includes(grouping))
  return {
    workspace: by('workspace', 'resource_name', 'resource_uuid'),
    type: by('resource_type', 'resource_name', 'resource_uuid', 'billing_dimension'),
    name: by('resource_name', 'resource_uuid'),
    uid: by('resource_uuid'),
  }
}

const blank = sql<string>`''`

/** The group of a row, from `subjects`; what is not told apart is ''. */
export const group = (columns: Columns) => [
  (columns.workspace ? sql<string>`subjects.workspace` : blank).as('workspace'),
  (columns.type ? sql<string>`subjects.resource_type` : blank).as('type'),
  (columns.name ? sql<string>`subjects.name` : blank).as('name'),
  (columns.uid ? sql<string>`subjects.uid` : blank).as('uid'),
]

/** The group of a row, from `totals`, which know neither names nor uuids. */
export const coarseGroup = (columns: Columns) => [
  (columns.workspace ? sql<string>`totals.workspace` : blank).as('workspace'),
  (columns.type ? sql<string>`totals.resource_type` : blank).as('type'),
  blank.as('name'),
  blank.as('uid'),
]

/** Base of the two limbs that sums of usage are kept and added up in: the sum of a large account overflows 63 bits. */
export const limb = 4_294_967_296
const limbExact = BigInt(limb)

/** The sum of an amount that fits 63 bits by itself. */
export const limbs = (amount: RawBuilder<number>) => [
  sql<bigint>`sum(${amount} / ${sql.lit(limb)})`.as('high'),
  sql<bigint>`sum(${amount} % ${sql.lit(limb)})`.as('low'),
]

/** The sum of amounts that are kept in limbs. */
export const limbSums = () => [sql<bigint>`sum(high)`.as('high'), sql<bigint>`sum(low)`.as('low')]

export const fromLimbs = ({ high, low }: { high: bigint; low: bigint }): bigint => high * limbExact + low

export const workspacesOf = ({ account, workspace }: UsageQuery) => {
  const names = query.selectFrom('workspaces').select('name').where('account', '=', account)
  return workspace === undefined ? names : names.where('name', '=', workspace)
}

/** The report is about some resources only, or tells resources apart: rollups per subject are needed. */
export const needsSubjects = (asked: UsageQuery, columns: Columns): boolean => columns.name || isNarrowed(asked)

export const isNarrowed = ({ resourceName, resourceUuid }: UsageQuery): boolean =>
  resourceName !== undefined || resourceUuid !== undefined

/** Numbers of the resources that a narrowed report is about, in the workspaces it is about. */
export const subjectsOf = (asked: UsageQuery) => {
  const { resourceName, resourceUuid } = asked
  let subjects = query.selectFrom('subjects').select('id').where('workspace', 'in', workspacesOf(asked))
  if (resourceName !== undefined) subjects = subjects.where('name', '=', resourceName)
  if (resourceUuid !== undefined) subjects = subjects.where('uid', '=', resourceUuid)
  return subjects
}

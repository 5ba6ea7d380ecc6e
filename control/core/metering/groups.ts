import type { Grouping } from '../../../shared/wire/billing.ts'
import type { UsageRow } from '../store/store.ts'
import { costOf, shownUsage, type Price } from './money.ts'

/** Amounts as `money.ts` shows them. */
export interface Cell {
  cost: bigint
  usage: bigint
}

export interface Group {
  /** Values of `fields`, in their order; sorts and continues pages. */
  readonly key: readonly string[]
  readonly fields: Readonly<Partial<Record<Field, string>>>
  /** By bucket; a missing one is zero. */
  readonly cells: ReadonlyMap<number, Cell>
  readonly sum: Cell
}

export type Field = 'workspace' | 'resourceType' | 'resourceName' | 'resourceUuid' | 'billingDimension'

/** Fields of an entry by what is grouped: a name comes with its workspace and type, and so on. */
const filledBy: Readonly<Record<Field, readonly Grouping[]>> = {
  workspace: ['workspace', 'resource_name', 'resource_uuid'],
  resourceType: ['resource_type', 'resource_name', 'resource_uuid', 'billing_dimension'],
  resourceName: ['resource_name', 'resource_uuid'],
  resourceUuid: ['resource_uuid'],
  billingDimension: ['billing_dimension'],
}

const fieldsOf = (groupBy: readonly Grouping[]): Field[] =>
  (Object.keys(filledBy) as Field[]).filter(field => filledBy[field].some(grouping => groupBy.includes(grouping)))

/** Code unit order, the same on every machine. */
export const compareKeys = (a: readonly string[], b: readonly string[]): number => {
  for (const [index, value] of a.entries()) {
    const other = b[index] ?? ''
    if (value !== other) return value < other ? -1 : 1
  }
  return 0
}

const plus = (into: Cell, cell: Cell): void => {
  into.cost += cell.cost
  into.usage += cell.usage
}

interface Collected {
  key: string[]
  buckets: Map<number, UsageRow[]>
}

/** The groups of a report, sorted by key. */
export const groupsOf = (
  rows: readonly UsageRow[],
  groupBy: readonly Grouping[],
  priceOf: (dimension: string) => Price,
): Group[] => {
  const fields = fieldsOf(groupBy)
  const collected = new Map<string, Collected>()
  for (const row of rows) {
    const key = fields.map(field => row[field])
    const id = key.join('\0')
    const group = collected.get(id) ?? { key, buckets: new Map() }
    collected.set(id, group)
    const bucket = group.buckets.get(row.bucket)
    if (bucket) bucket.push(row)
    else group.buckets.set(row.bucket, [row])
  }
  const finish = ({ key, buckets }: Collected): Group => {
    const sum: Cell = { cost: 0n, usage: 0n }
    const cells = new Map<number, Cell>()
    for (const [bucket, parts] of buckets) {
      const cell: Cell = { cost: 0n, usage: 0n }
      for (const row of parts)
        plus(cell, { cost: costOf(row.parts, priceOf(row.billingDimension)), usage: shownUsage(row.parts) })
      cells.set(bucket, cell)
      plus(sum, cell)
    }
    return { key, fields: Object.fromEntries(fields.map((field, index) => [field, key[index] ?? ''])), cells, sum }
  }
  return [...collected.values()].map(finish).sort((a, b) => compareKeys(a.key, b.key))
}

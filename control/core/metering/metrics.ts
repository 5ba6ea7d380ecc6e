import type { Clock } from '../../../shared/clock.ts'
import type { MetricsAnswer, MetricsEntry } from '../../../shared/wire/billing.ts'
import { parse, s } from '../../../shared/schema.ts'
import type { Binding, Cursors } from '../../base/wire/cursors.ts'
import type { Store } from '../store/store.ts'
import { compareKeys, groupsOf, type Cell, type Group } from './groups.ts'
import { priceList, toUsageNumber, toUsd } from './money.ts'
import { questionOf, type Caller, type MetricsQuery, type Question } from './question.ts'

export interface BillingDeps {
  readonly store: Store
  /** USD per unit of each billing dimension. */
  readonly prices: Readonly<Record<string, number>>
  readonly clock: Clock
  readonly cursors: Cursors
}

/** RFC 3339 in UTC, without a fraction when there is none. */
const timeText = (time: number): string => new Date(time).toISOString().replace('.000Z', 'Z')

/** Everything that shapes the answer except the page size. */
const bindingOf = ({ usage, resolution }: Question): Binding => ({
  list: 'billing.metrics',
  account: usage.account,
  from: String(usage.from),
  to: String(usage.to),
  resolution,
  groupBy: usage.groupBy,
  workspace: usage.workspace,
  resourceType: usage.resourceType,
  resourceName: usage.resourceName,
  resourceUuid: usage.resourceUuid,
  billingDimension: usage.billingDimension,
})

const Key = s.array(s.string())

/** The groups after the cursor's. Pages go by key, so that usage recorded between two pages moves no group. */
const pageOf = (groups: readonly Group[], after: readonly string[] | undefined, limit: number) => {
  const first = after ? groups.findIndex(({ key }) => compareKeys(key, after) > 0) : 0
  const rest = first < 0 ? [] : groups.slice(first)
  return { page: rest.slice(0, limit), hasMore: rest.length > limit }
}

const nothing: Cell = { cost: 0n, usage: 0n }

/** Usage is shown only when each group has one unit. */
const entryOf = (group: Group, buckets: readonly string[], withUsage: boolean): MetricsEntry => {
  const shown = ({ cost, usage }: Cell) => ({
    cost: toUsd(cost),
    ...(withUsage ? { usage: toUsageNumber(usage) } : {}),
  })
  return {
    ...group.fields,
    summary: shown(group.sum),
    timeseries: buckets.map((timestamp, index) => ({ timestamp, ...shown(group.cells.get(index) ?? nothing) })),
  }
}

/**
 * Cost and usage of the caller's account. Throws `invalid_argument` naming the parameter, `forbidden` for what only
 * account admins may ask. `summary` is of the whole window, whatever page is asked for.
 */
export const queryMetrics = async (deps: BillingDeps, caller: Caller, query: MetricsQuery): Promise<MetricsAnswer> => {
  const { store, prices, clock, cursors } = deps
  const question = questionOf(caller, query)
  const { usage, resolution, limit } = question
  const binding = bindingOf(question)
  const after = query.cursor === undefined ? undefined : parse(Key, cursors.read(binding, query.cursor), 'query')
  const rows = await store.meter.usage(usage, clock.now())
  const groups = groupsOf(rows, usage.groupBy, priceList(prices))
  // Without grouping there is one entry, also when nothing was used.
  if (usage.groupBy.length === 0 && groups.length === 0)
    groups.push({ key: [], fields: {}, cells: new Map(), sum: nothing })
  const { page, hasMore } = pageOf(groups, after, limit)
  const withUsage = usage.groupBy.includes('billing_dimension')
  const totalCost = groups.reduce((sum, group) => sum + group.sum.cost, 0n)
  const totalUsage = groups.reduce((sum, group) => sum + group.sum.usage, 0n)
  const buckets = usage.buckets.map(timeText)
  const last = page.at(-1)
  return {
    startTime: query.startTime,
    endTime: query.endTime,
    resolution,
    summary: { totalCost: toUsd(totalCost), ...(withUsage ? { totalUsage: toUsageNumber(totalUsage) } : {}) },
    data: page.map(group => entryOf(group, buckets, withUsage)),
    meta: { hasMore, nextCursor: hasMore && last ? cursors.issue(binding, last.key) : '' },
  }
}

/** What a model has used, summed up for whoever asks. */
import { fail } from '../../../shared/errors.ts'
import type { ModelUsage, ModelUsageRow, ModelUsageSums } from '../store/store.ts'

export interface UsageAsked {
  readonly startTime?: string | undefined
  readonly endTime?: string | undefined
  readonly groupBy?: 'key' | 'model' | undefined
  readonly resolution?: 'hourly' | 'daily' | undefined
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/** Buckets of one answer. */
const mostBuckets = 1_000

const timeOf = (field: string, text: string | undefined, otherwise: number): number => {
  if (text === undefined) return otherwise
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time))
    throw fail('invalid_argument', { field, reason: 'must be a time such as 2026-04-28T00:00:00Z' })
  return time
}

/** Starts of buckets: the window's own, then whole hours or days (UTC). */
const bucketsOf = (from: number, to: number, width: number): number[] => {
  const starts = [from]
  for (let at = (Math.floor(from / width) + 1) * width; at < to; at += width) starts.push(at)
  return starts
}

const empty: ModelUsageSums = {
  requests: 0,
  inputTokens: 0,
  outputTokens: 0,
  estimatedTokens: 0,
  cachedTokens: 0,
  reasoningTokens: 0,
  errors: 0,
  costNanos: 0,
  unpriced: 0,
}

const names = Object.keys(empty) as (keyof ModelUsageSums)[]

const plus = (a: ModelUsageSums, b: ModelUsageSums): ModelUsageSums =>
  Object.fromEntries(names.map(name => [name, a[name] + b[name]])) as unknown as ModelUsageSums

const shown = (sums: ModelUsageSums) => {
  const { requests, inputTokens, outputTokens, estimatedTokens, cachedTokens, reasoningTokens, errors } = sums
  const priced = requests - sums.unpriced
  return {
    requests,
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    estimatedTokens,
    estimated: estimatedTokens > 0,
    cachedTokens,
    reasoningTokens,
    errors,
    ...(priced > 0 ? { costUsd: sums.costNanos / 1e9 } : {}),
  }
}

const grouped = (rows: readonly ModelUsageRow[], buckets: readonly number[], groupBy: UsageAsked['groupBy']) => {
  const byId = Map.groupBy(rows, ({ id }) => id)
  return [...byId].map(([id, own]) => ({
    ...(groupBy === 'key' ? { key: id, keyName: own.at(-1)?.name ?? '' } : {}),
    ...(groupBy === 'model' ? { model: id } : {}),
    ...shown(own.reduce<ModelUsageSums>(plus, empty)),
    timeseries: own.map(row => ({
      timestamp: new Date(buckets[row.bucket] ?? 0).toISOString(),
      ...shown(row),
    })),
  }))
}

/** Throws `invalid_argument` naming the member of the query. */
export const usageReport = async (
  { usage, firstBytes }: Pick<ModelUsage, 'usage' | 'firstBytes'>,
  of: { readonly workspace: string; readonly model: string },
  asked: UsageAsked,
  { now, unrecorded }: { readonly now: number; readonly unrecorded: number },
) => {
  const to = timeOf('endTime', asked.endTime, now + 1)
  const from = timeOf('startTime', asked.startTime, to - dayMs)
  if (from >= to) throw fail('invalid_argument', { field: 'startTime', reason: 'must be before endTime' })
  const resolution = asked.resolution ?? 'hourly'
  const width = resolution === 'daily' ? dayMs : hourMs
  if ((to - from) / width > mostBuckets)
    throw fail('invalid_argument', { field: 'resolution', reason: `has more than ${mostBuckets} steps in that window` })
  const buckets = bucketsOf(from, to, width)
  const rows = await usage({ ...of, from, to, buckets, groupBy: asked.groupBy === 'model' ? 'served' : asked.groupBy })
  const [p50 = null, p99 = null] = await firstBytes({ ...of, from, to }, [0.5, 0.99])
  return {
    startTime: new Date(from).toISOString(),
    endTime: new Date(to).toISOString(),
    resolution,
    summary: {
      ...shown(rows.reduce<ModelUsageSums>(plus, empty)),
      ttftMs: { p50, p99 },
      unrecorded,
    },
    data: grouped(rows, buckets, asked.groupBy),
  }
}

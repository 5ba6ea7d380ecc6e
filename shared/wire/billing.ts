/** Billing metrics of an account: cost and usage over a window, grouped and bucketed. */
import { route } from '../route.ts'
import { intText, s, text, type In } from '../schema.ts'

const resolutions = ['hourly', 'daily', 'weekly', 'monthly'] as const
export const groupings = ['workspace', 'resource_type', 'resource_name', 'resource_uuid', 'billing_dimension'] as const
export type Resolution = (typeof resolutions)[number]
export type Grouping = (typeof groupings)[number]

const utcTime = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]00:00)$/

/** Epoch milliseconds of an RFC 3339 time in UTC, not before 1970, or undefined. */
export const parseUtcTime = (value: string): number | undefined => {
  if (!utcTime.test(value)) return undefined
  const [whole = '', fraction = ''] = value.slice(0, value.search(/[Zz+]|-00:00$/)).split('.')
  const upper = whole.toUpperCase()
  const time = Date.parse(`${upper}Z`)
  // Date.parse reads 30 February as 2 March.
  if (Number.isNaN(time) || new Date(time).toISOString().slice(0, 19) !== upper) return undefined
  // Nothing was metered before the epoch.
  return time < 0 ? undefined : time + Number(fraction.padEnd(3, '0').slice(0, 3))
}

const time = () => {
  const message = 'must be an RFC 3339 time in UTC from 1970 on, such as 2026-01-31T00:00:00Z'
  return s.string(message).check(s.refine(value => parseUtcTime(value) !== undefined, message))
}

/** An empty value counts as absent. */
const filter = () =>
  s.pipe(
    s.optional(text(256)),
    s.transform((value: string | undefined) => value || undefined),
  )

const unsupported = () => s.optional(s.string().check(s.refine(() => false, 'is not supported')))

const window = { startTime: time(), endTime: time() }

const Bucket = s.object({ timestamp: s.string(), cost: s.number(), usage: s.optional(s.number()) })

const Entry = s.object({
  workspace: s.optional(s.string()),
  resourceType: s.optional(s.string()),
  resourceName: s.optional(s.string()),
  resourceUuid: s.optional(s.string()),
  billingDimension: s.optional(s.string()),
  summary: s.object({ cost: s.number(), usage: s.optional(s.number()) }),
  timeseries: s.array(Bucket),
})

const AccountMetrics = s.object({
  startTime: s.string(),
  endTime: s.string(),
  resolution: s.enum(resolutions),
  summary: s.object({ totalCost: s.number(), totalUsage: s.optional(s.number()) }),
  data: s.array(Entry),
  meta: s.object({ hasMore: s.boolean(), nextCursor: s.string() }),
})

export type MetricsAnswer = In<typeof AccountMetrics>
export type MetricsEntry = In<typeof Entry>

const params = s.object({ accountId: text(256) })
const Values = s.object({ values: s.array(s.string()) })

export const accountMetrics = route('GET /v0/accounts/:accountId/metrics', {
  id: 'billing.metrics',
  summary: 'Cost and usage of an account over a window',
  params,
  query: s.object({
    ...window,
    resolution: s.pipe(
      s.optional(
        s
          .string()
          .check(
            s.refine(
              value => value === '' || resolutions.includes(value as Resolution),
              `must be one of ${resolutions.join(', ')}`,
            ),
          ),
      ),
      s.transform((value: string | undefined) => (value || undefined) as Resolution | undefined),
    ),
    groupBy: filter(),
    workspace: filter(),
    resourceType: filter(),
    resourceName: filter(),
    resourceUuid: filter(),
    billingDimension: filter(),
    limit: intText(1),
    cursor: s.pipe(
      s.optional(text(4096)),
      s.transform((value: string | undefined) => value || undefined),
    ),
    label: unsupported(),
    unit: unsupported(),
  }),
  returns: AccountMetrics,
  errors: ['invalid_argument', 'forbidden'],
  extra: { tenant: 'none', access: { scope: 'admin', role: 'member' } },
})

export const metricsGroupings = route('GET /v0/accounts/:accountId/metrics/enums/group-by', {
  id: 'billing.groupings',
  summary: 'What metrics can be grouped by',
  params,
  returns: Values,
  errors: ['forbidden'],
  extra: { tenant: 'none', access: { scope: 'admin', role: 'member' } },
})

export const metricsResourceTypes = route('GET /v0/accounts/:accountId/metrics/enums/resource-types', {
  id: 'billing.resource-types',
  summary: 'Resource types with usage in a window',
  params,
  query: s.object(window),
  returns: Values,
  errors: ['invalid_argument', 'forbidden'],
  extra: { tenant: 'none', access: { scope: 'admin', role: 'member' } },
})

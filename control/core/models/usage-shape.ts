/** What `GET /models/{model}/usage` answers. */
import { s } from '../../../shared/schema.ts'

const count = s.int()

const sums = {
  requests: count,
  inputTokens: count,
  outputTokens: count,
  totalTokens: count,
  /** Of all tokens, those of calls whose provider did not tell all counts. */
  estimatedTokens: count,
  estimated: s.boolean(),
  cachedTokens: count,
  reasoningTokens: count,
  errors: count,
  /** Left out where no price is known of any of the calls. */
  costUsd: s.optional(s.number()),
}

export const usageShape = s.object({
  startTime: s.string(),
  endTime: s.string(),
  resolution: s.enum(['hourly', 'daily']),
  summary: s.object({
    ...sums,
    ttftMs: s.object({ p50: s.nullable(s.number()), p99: s.nullable(s.number()) }),
    /** Calls on this host whose usage is not written down. */
    unrecorded: count,
  }),
  data: s.array(
    s.object({
      key: s.optional(s.string()),
      keyName: s.optional(s.string()),
      model: s.optional(s.string()),
      ...sums,
      timeseries: s.array(s.object({ timestamp: s.string(), ...sums })),
    }),
  ),
})

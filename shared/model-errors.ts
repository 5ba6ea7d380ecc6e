/** Failures of the data plane of models. */
import { entry, faced } from './error-entry.ts'

export const modelErrors = {
  model_disabled: faced(
    entry(403, (d: { name: string }) => `model "${d.name}" is disabled`),
    { code: 'FORBIDDEN', action: 'enable the model', doNot: 'retry' },
  ),
  model_unusable: faced(
    entry(503, (d: { name: string; reason: string }) => `model "${d.name}" cannot be used: ${d.reason}`),
    { code: 'WORKLOAD_UNAVAILABLE', action: 'mend the model or its connection', doNot: 'retry' },
  ),
  model_failed: faced(
    entry(
      502,
      (d: { name: string; reason: string }) => `the provider of model "${d.name}" gave no answer: ${d.reason}`,
      true,
    ),
    { code: 'UPSTREAM_FAILED', action: 'see that the provider can be reached', doNot: 'create the model again' },
  ),
  tokens_spent: faced(
    entry(
      429,
      (d: { name: string; policies: string; retryAfterS: number }) =>
        `model "${d.name}" has used what its token policies allow (${d.policies}); try again in ${d.retryAfterS} s`,
      true,
    ),
    { code: 'POLICY_VIOLATION', action: 'wait as long as Retry-After says', doNot: 'retry before' },
  ),
  budget_spent: faced(
    entry(
      429,
      (d: { key: string; usd: number; per: string; retryAfterS: number }) =>
        `key "${d.key}" has spent its budget of ${d.usd} USD a ${d.per}; it begins anew in ${d.retryAfterS} s`,
      true,
    ),
    {
      code: 'POLICY_VIOLATION',
      action: 'wait as long as Retry-After says, or raise the budget',
      doNot: 'retry before',
    },
  ),
  usage_unrecorded: faced(
    entry(
      503,
      (d: { name: string; retryAfterS: number }) =>
        `what model "${d.name}" uses cannot be written down just now, and it has a limit; try again in ${d.retryAfterS} s`,
      true,
    ),
    { code: 'USAGE_UNRECORDED', action: 'see the log of the host', doNot: 'give up at once' },
  ),
  models_busy: faced(
    entry(
      503,
      (d: { retryAfterS: number }) =>
        `this host holds as many requests to models as it has memory for; try again in ${d.retryAfterS} s`,
      true,
    ),
    { code: 'OVERLOADED', action: 'try again in a moment', doNot: 'send more at once' },
  ),
} as const

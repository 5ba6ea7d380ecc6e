import { fail } from '../../shared/errors.ts'
import { handle, type Bound, type Context } from '../../shared/route.ts'
import { accountMetrics, groupings, metricsGroupings, metricsResourceTypes } from '../../shared/wire/billing.ts'
import { factsOf } from './surface.ts'
import { queryMetrics, type BillingDeps } from '../billing/metrics.ts'
import { windowOf, type Caller } from '../billing/question.ts'

/** Bills are for members of the account; of another one nothing is said, not even whether it exists. */
const callerOf = (accountId: string, context: Context): Caller => {
  const { account, accountAdmin } = factsOf(context).key
  if (account !== accountId) throw fail('forbidden', { reason: 'Access denied' })
  return { account, accountAdmin }
}

export const billingRoutes = (deps: BillingDeps): Bound[] => [
  handle(accountMetrics, ({ params, query }, context) =>
    queryMetrics(deps, callerOf(params.accountId, context), query),
  ),
  handle(metricsGroupings, ({ params }, context) => {
    callerOf(params.accountId, context)
    return { values: [...groupings] }
  }),
  handle(metricsResourceTypes, async ({ params, query }, context) => {
    const { account } = callerOf(params.accountId, context)
    const { from, to } = windowOf(query)
    return { values: await deps.store.meter.resourceTypes(account, from, to, deps.clock.now()) }
  }),
]

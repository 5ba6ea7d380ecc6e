import { fail } from '../../../shared/errors.ts'
import { handle, type Bound, type Context } from '../../../shared/route.ts'
import { accountMetrics, groupings, metricsGroupings, metricsResourceTypes } from '../../../shared/wire/billing.ts'
import { factsOf } from './surface.ts'
import { queryMetrics, type BillingDeps } from '../../core/metering/metrics.ts'
import { windowOf, type Caller } from '../../core/metering/question.ts'

/**
 * Bills are for members of the account, and a key of one workspace is told of that one alone; of another account nothing is
 * said, not even whether it exists.
 */
const callerOf = async ({ store }: BillingDeps, accountId: string, context: Context): Promise<Caller> => {
  const { account, accountAdmin, workspace, memberships } = factsOf(context).key
  if (account !== accountId) throw fail('forbidden', { reason: 'Access denied' })
  const [only, other] = Object.keys(memberships ?? {})
  // The contract lets nobody but admins of the account choose a workspace: whoever is in several is told of none.
  if (memberships && workspace === null && (!only || other)) throw fail('forbidden', { reason: 'Access denied' })
  if (workspace === null) return { account, accountAdmin, ...(only ? { workspace: only } : {}) }
  const bound = await store.tenants.workspace(workspace)
  return { account, accountAdmin: false, workspace: bound?.name ?? workspace }
}

export const billingRoutes = (deps: BillingDeps): Bound[] => [
  handle(accountMetrics, async ({ params, query }, context) =>
    queryMetrics(deps, await callerOf(deps, params.accountId, context), query),
  ),
  handle(metricsGroupings, async ({ params }, context) => {
    await callerOf(deps, params.accountId, context)
    return { values: [...groupings] }
  }),
  handle(metricsResourceTypes, async ({ params, query }, context) => {
    const { account, workspace } = await callerOf(deps, params.accountId, context)
    const { from, to } = windowOf(query)
    const whose = { account, ...(workspace === undefined ? {} : { workspace }) }
    return { values: await deps.store.meter.resourceTypes(whose, from, to, deps.clock.now()) }
  }),
]

/** Accounts: who pays. A key sees the one it belongs to. */
import { fail } from '../../../shared/errors.ts'
import { handle, route, type Bound } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import { ttlQuota } from '../../base/config/quotas.ts'
import type { Store } from '../../core/store/store.ts'
import { factsOf } from './surface.ts'

const account = s.object({
  id: s.string(),
  metadata: s.object({ id: s.string(), name: s.string(), displayName: s.string(), createdAt: s.string() }),
})

export const listAccounts = route('GET /v0/accounts', {
  id: 'accounts.list',
  summary: 'Lists the accounts the caller belongs to',
  returns: s.array(account),
  errors: ['unauthenticated', 'internal'],
  extra: { tenant: 'none', access: { scope: 'workspaces:list', role: 'member' } },
})

export const listQuotas = route('GET /v0/quotas/account/:accountId', {
  id: 'quotas.list',
  summary: 'Lists what an account may have in all its workspaces together; what is not there has no limit',
  family: 'accounts',
  params: s.object({ accountId: s.string() }),
  returns: s.array(s.object({ resourceType: s.string(), value: s.number() })),
  errors: ['unauthenticated', 'forbidden', 'not_found', 'internal'],
  extra: { tenant: 'none', access: { scope: 'workspaces:list', role: 'member' } },
})

/** Clients look for the longest life of a sandbox under either name. */
const enforced: Readonly<Record<string, string>> = { [ttlQuota]: 'sandbox_enforced_ttl' }

export const accountRoutes = (deps: {
  readonly store: Pick<Store, 'tenants'>
  readonly quotas: Readonly<Record<string, number>>
}): Bound[] => [
  handle(listAccounts, async (_input, context) => {
    const found = await deps.store.tenants.account(factsOf(context).key.account)
    if (!found) return []
    const { id, displayName, createdAt } = found
    return [{ id, metadata: { id, name: id, displayName, createdAt: new Date(createdAt).toISOString() } }]
  }),
  handle(listQuotas, async ({ params: { accountId } }, context) => {
    if (factsOf(context).key.account !== accountId)
      throw fail('forbidden', { reason: 'this API key does not belong to that account' })
    return Object.entries(deps.quotas).flatMap(([resourceType, value]) => {
      const other = enforced[resourceType]
      return [{ resourceType, value }, ...(other ? [{ resourceType: other, value }] : [])]
    })
  }),
]

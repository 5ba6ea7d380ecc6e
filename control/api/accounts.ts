/** Accounts: who pays. A key sees the one it belongs to. */
import { fail } from '../../shared/errors.ts'
import { handle, route, type Bound } from '../../shared/route.ts'
import { s } from '../../shared/schema.ts'
import type { Store } from '../store/store.ts'
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
  summary: 'Lists the quotas of an account; this host sets none',
  family: 'accounts',
  params: s.object({ accountId: s.string() }),
  returns: s.array(s.object({ resourceType: s.string(), value: s.number() })),
  errors: ['unauthenticated', 'forbidden', 'not_found', 'internal'],
  extra: { tenant: 'none', access: { scope: 'workspaces:list', role: 'member' } },
})

export const accountRoutes = (deps: { store: Pick<Store, 'tenants'> }): Bound[] => [
  handle(listAccounts, async (_input, context) => {
    const found = await deps.store.tenants.account(factsOf(context).key.account)
    if (!found) return []
    const { id, displayName, createdAt } = found
    return [{ id, metadata: { id, name: id, displayName, createdAt: new Date(createdAt).toISOString() } }]
  }),
  handle(listQuotas, async ({ params: { accountId } }, context) => {
    if (factsOf(context).key.account !== accountId)
      throw fail('forbidden', { reason: 'this API key does not belong to that account' })
    return []
  }),
]

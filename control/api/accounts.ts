/** Accounts: who pays. A key sees the one it belongs to. */
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

export const accountRoutes = (deps: { store: Pick<Store, 'tenants'> }): Bound[] => [
  handle(listAccounts, async (_input, context) => {
    const found = await deps.store.tenants.account(factsOf(context).key.account)
    if (!found) return []
    const { id, displayName, createdAt } = found
    return [{ id, metadata: { id, name: id, displayName, createdAt: new Date(createdAt).toISOString() } }]
  }),
]

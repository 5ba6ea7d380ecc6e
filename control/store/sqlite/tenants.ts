import { fail } from '../../../shared/errors.ts'
import type { Account, ApiKey, Tenants, Workspace } from '../store.ts'
import { query, type Prepare } from './prepared.ts'
import type { Remembered } from './remembered.ts'
import type { AccountRow, ApiKeyRow, WorkspaceRow } from './tables.ts'
import { isDuplicate, isOrphan, type Transact } from './transact.ts'

const toAccount = (row: AccountRow): Account => ({
  id: row.id,
  displayName: row.display_name,
  createdAt: row.created_at,
})

const toWorkspace = (row: WorkspaceRow): Workspace => ({
  id: row.id,
  name: row.name,
  account: row.account,
  displayName: row.display_name,
  createdAt: row.created_at,
})

const toApiKey = (row: ApiKeyRow): ApiKey => ({
  id: row.id,
  hash: row.hash,
  name: row.name,
  account: row.account,
  workspace: row.workspace,
  role: row.role,
  accountAdmin: row.account_admin === 1,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
})

const statements = (prepare: Prepare) => ({
  accounts: prepare(() => query.selectFrom('accounts').selectAll().orderBy('created_at').orderBy('id')),
  account: prepare((given: { id: string }) => query.selectFrom('accounts').selectAll().where('id', '=', given.id)),
  workspaces: prepare((given: { account: string }) =>
    query.selectFrom('workspaces').selectAll().where('account', '=', given.account).orderBy('name'),
  ),
  // A name wins over an id of the same text: names are what callers write.
  workspace: prepare((given: { key: string }) =>
    query
      .selectFrom('workspaces')
      .selectAll()
      .where(or => or.or([or('name', '=', given.key), or('id', '=', given.key)]))
      .orderBy(by => by('name', '=', given.key), 'desc')
      .limit(1),
  ),
  apiKey: prepare((given: { hash: string }) => query.selectFrom('api_keys').selectAll().where('hash', '=', given.hash)),
  addAccount: prepare((given: Account) =>
    query.insertInto('accounts').values({ id: given.id, display_name: given.displayName, created_at: given.createdAt }),
  ),
  addWorkspace: prepare((given: Workspace) =>
    query.insertInto('workspaces').values({
      id: given.id,
      name: given.name,
      account: given.account,
      display_name: given.displayName,
      created_at: given.createdAt,
    }),
  ),
  addApiKey: prepare((given: Omit<ApiKey, 'accountAdmin'> & { accountAdmin: number }) =>
    query.insertInto('api_keys').values({
      id: given.id,
      hash: given.hash,
      name: given.name,
      account: given.account,
      workspace: given.workspace,
      role: given.role,
      account_admin: given.accountAdmin,
      created_at: given.createdAt,
      expires_at: given.expiresAt,
    }),
  ),
  removeApiKey: prepare((given: { id: string }) => query.deleteFrom('api_keys').where('id', '=', given.id)),
})

export const sqliteTenants = (prepare: Prepare, { look, write }: Transact, memory: Remembered): Tenants => {
  const run = statements(prepare)
  // Nobody looks between here and the commit: a transaction runs in one go.
  const change = (task: () => void) =>
    write(() => {
      memory.forget()
      task()
    })
  const adding = (kind: string, name: string, account: string, add: () => unknown) =>
    change(() => {
      try {
        add()
      } catch (error) {
        if (isDuplicate(error)) throw fail('already_exists', { kind, name }, error)
        if (isOrphan(error)) throw fail('not_found', { kind: 'account', name: account }, error)
        throw error
      }
    })
  const workspaces = memory.of(account => run.workspaces.all({ account }).map(toWorkspace))
  const workspace = memory.of(key => {
    const row = run.workspace.get({ key })
    return row && toWorkspace(row)
  })
  const apiKeyByHash = memory.of(hash => {
    const row = run.apiKey.get({ hash })
    return row && toApiKey(row)
  })
  return {
    accounts: () => look(() => run.accounts.all({}).map(toAccount)),
    account: id =>
      look(() => {
        const row = run.account.get({ id })
        return row && toAccount(row)
      }),
    workspaces: account => look(() => [...(workspaces(account) ?? [])]),
    workspace: key => look(() => workspace(key)),
    apiKeyByHash: hash => look(() => apiKeyByHash(hash)),
    addAccount: account => adding('account', account.id, account.id, () => run.addAccount.run(account)),
    addWorkspace: workspace =>
      adding('workspace', workspace.name, workspace.account, () => run.addWorkspace.run(workspace)),
    addApiKey: key =>
      adding('api key', key.name, key.account, () =>
        run.addApiKey.run({ ...key, accountAdmin: key.accountAdmin ? 1 : 0 }),
      ),
    removeApiKey: id => change(() => void run.removeApiKey.run({ id })),
  }
}

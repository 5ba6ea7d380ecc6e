import { fail } from '../../../shared/errors.ts'
import type { Account, ApiKey, Tenants } from '../store.ts'
import { toApiKeyRow, type KeyWriting } from './keys.ts'
import { query, type Prepare } from './prepared.ts'
import type { Remembered } from './remembered.ts'
import type { AccountRow, ApiKeyRow } from './tables.ts'
import { isDuplicate, isOrphan, type Transact } from './transact.ts'
import type { WorkspaceRows } from './workspaces.ts'

const toAccount = (row: AccountRow): Account => ({
  id: row.id,
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
  scopes: row.scopes === null ? null : (JSON.parse(row.scopes) as string[]),
  owner: row.owner,
})

const statements = (prepare: Prepare) => ({
  accounts: prepare(() => query.selectFrom('accounts').selectAll().orderBy('created_at').orderBy('id')),
  account: prepare((given: { id: string }) => query.selectFrom('accounts').selectAll().where('id', '=', given.id)),
  apiKey: prepare((given: { hash: string }) => query.selectFrom('api_keys').selectAll().where('hash', '=', given.hash)),
  addAccount: prepare((given: Account) =>
    query.insertInto('accounts').values({ id: given.id, display_name: given.displayName, created_at: given.createdAt }),
  ),
  removeApiKey: prepare((given: { id: string }) => query.deleteFrom('api_keys').where('id', '=', given.id)),
})

export const sqliteTenants = (parts: {
  prepare: Prepare
  transact: Transact
  memory: Remembered
  keys: KeyWriting
  workspaces: WorkspaceRows
}): Tenants => {
  const { prepare, transact, memory, keys, workspaces: of } = parts
  const { look, write } = transact
  const run = statements(prepare)
  // Nobody looks between here and the commit: a transaction runs in one go.
  const change = <T>(task: () => T): Promise<T> =>
    write(() => {
      memory.forget()
      return task()
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
  const ofAccount = memory.of(of.ofAccount)
  const workspace = memory.of(of.find)
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
    workspaces: account => look(() => [...(ofAccount(account) ?? [])]),
    workspace: key => look(() => workspace(key)),
    isTaken: name => look(() => of.isTaken(name)),
    apiKeyByHash: hash => look(() => apiKeyByHash(hash)),
    addAccount: account => adding('account', account.id, account.id, () => run.addAccount.run(account)),
    addWorkspace: workspace => adding('workspace', workspace.name, workspace.account, () => of.add(workspace)),
    updateWorkspace: (name, given) => change(() => of.update(name, given)),
    removeWorkspace: (name, kinds, now) => change(() => of.remove(name, kinds, now)),
    addApiKey: key => adding('api key', key.name, key.account, () => keys.add.run(toApiKeyRow(key))),
    removeApiKey: id => change(() => void run.removeApiKey.run({ id })),
  }
}

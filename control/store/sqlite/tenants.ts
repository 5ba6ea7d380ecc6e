import { fail } from '../../../shared/errors.ts'
import type { Account, Tenants } from '../store.ts'
import { keyReading, toApiKey, toApiKeyRow, type KeyWriting } from './keys.ts'
import { query, type Prepare } from './prepared.ts'
import type { Remembered } from './remembered.ts'
import type { AccountRow } from './tables.ts'
import { isDuplicate, isOrphan, type Transact } from './transact.ts'
import type { WorkspaceRows } from './workspaces.ts'

const toAccount = (row: AccountRow): Account => ({
  id: row.id,
  displayName: row.display_name,
  createdAt: row.created_at,
})

const statements = (prepare: Prepare) => ({
  accounts: prepare(() => query.selectFrom('accounts').selectAll().orderBy('created_at').orderBy('id')),
  account: prepare((given: { id: string }) => query.selectFrom('accounts').selectAll().where('id', '=', given.id)),
  addAccount: prepare((given: Account) =>
    query.insertInto('accounts').values({ id: given.id, display_name: given.displayName, created_at: given.createdAt }),
  ),
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
  const read = keyReading(prepare)
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
    const row = read.byHash.get({ hash })
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
    addApiKey: key => adding('api key', key.name, key.account, () => keys.add.run(toApiKeyRow(key))),
    removeApiKey: id => change(() => void keys.remove.run({ id })),
    personalKeys: account => look(() => read.personal.all({ account }).map(toApiKey)),
    keyUse: id => look(() => read.use.get({ id })?.last_used_at ?? undefined),
    // Nobody remembers when a key was used: nothing is forgotten.
    noteKeyUses: uses =>
      write(() => {
        for (const { id, at } of uses) keys.noteUse.run({ id, at })
      }),
  }
}

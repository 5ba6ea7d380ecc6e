import { fail } from '../../../../shared/errors.ts'
import type { Account, AuditEntry, Tenants } from '../store.ts'
import type { Auditing } from './audit.ts'
import { keyReading, toApiKey, toApiKeyRow, type KeyWriting } from './keys.ts'
import { query, type Prepare } from './prepared.ts'
import { readEach } from './read-json.ts'
import type { Remembered } from './remembered.ts'
import type { Standing } from './standing.ts'
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

interface TenantParts {
  readonly prepare: Prepare
  readonly transact: Transact
  readonly memory: Remembered
  readonly keys: KeyWriting
  readonly workspaces: WorkspaceRows
  readonly standing: Standing
  readonly auditing: Pick<Auditing, 'add'>
}

/** What is written down with a change, and when it happens. */
type Audited = readonly [entry: AuditEntry | undefined, now: number]

const changing = ({ transact: { write }, memory, auditing }: TenantParts) => {
  // Nobody looks between here and the commit: a transaction runs in one go.
  const change = <T>(task: () => T, audit?: Audited): Promise<T> =>
    write(() => {
      memory.forget()
      const [entry, now = 0] = audit ?? []
      if (entry) auditing.add(entry, now)
      return task()
    })
  const adding = (kind: string, [name, account]: readonly [string, string], add: () => unknown, audit?: Audited) => {
    const task = () => {
      try {
        add()
      } catch (error) {
        if (isDuplicate(error)) throw fail('already_exists', { kind, name }, error)
        if (isOrphan(error)) throw fail('not_found', { kind: 'account', name: account }, error)
        throw error
      }
    }
    return change(task, audit)
  }
  return { change, adding }
}

export const sqliteTenants = (parts: TenantParts): Tenants => {
  const { prepare, transact, memory, keys, workspaces: of, standing } = parts
  const { look, write } = transact
  const run = statements(prepare)
  const read = keyReading(prepare)
  const { change, adding } = changing(parts)
  const ofAccount = memory.of(of.ofAccount)
  const workspace = memory.of(of.find)
  const apiKeyByHash = memory.of(hash => {
    const row = read.byHash.get({ hash })
    return row && standing(toApiKey(row))
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
    addAccount: (account, first, audit) => {
      const add = () => {
        run.addAccount.run(account)
        if (first) of.add(first)
      }
      return adding('account', [account.id, account.id], add, [audit, account.createdAt])
    },
    addWorkspace: (workspace, audit) =>
      adding('workspace', [workspace.name, workspace.account], () => of.add(workspace), [audit, workspace.createdAt]),
    updateWorkspace: (name, given, audit) => change(() => of.update(name, given), [audit, given.updatedAt]),
    addApiKey: (key, audit, madeWith) => {
      const add = () => {
        if (madeWith !== undefined && !read.isThere.get({ id: madeWith }))
          throw fail('unauthenticated', { reason: 'the credential was revoked' })
        keys.add.run(toApiKeyRow(key))
      }
      return adding('api key', [key.name, key.account], add, [audit, key.createdAt])
    },
    removeApiKey: (id, audit, now = 0) => change(() => void keys.remove.run({ id }), [audit, now]),
    personalKeys: account =>
      look(() =>
        // One that cannot be read opens nothing, and keeps nobody from revoking another.
        readEach(read.personal.all({ account }), toApiKey, () => {}).flatMap(key => standing(key) ?? []),
      ),
    keyUse: id => look(() => read.use.get({ id })?.last_used_at ?? undefined),
    // Nobody remembers when a key was used: nothing is forgotten.
    noteKeyUses: uses =>
      write(() => {
        for (const { id, at } of uses) keys.noteUse.run({ id, at })
      }),
  }
}

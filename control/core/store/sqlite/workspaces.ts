/** Workspaces as rows. One that was deleted keeps its row and is not found any more. */
import { fail } from '../../../../shared/errors.ts'
import type { Workspace, WorkspaceChange } from '../store.ts'
import { query, type Prepare } from './prepared.ts'
import type { WorkspaceRow } from './tables.ts'
import { labelsIn, toWorkspace, toWorkspaceRow } from './workspace-row.ts'

const reading = (prepare: Prepare) => ({
  ofAccount: prepare((given: { account: string }) =>
    query
      .selectFrom('workspaces')
      .selectAll()
      .where('account', '=', given.account)
      .where('deleted_at', 'is', null)
      .orderBy('name'),
  ),
  // Two statements: one with an `or`, in the order of which matched, takes ten times as long, and every write that is audited looks.
  named: prepare((given: { name: string }) =>
    query.selectFrom('workspaces').selectAll().where('name', '=', given.name).where('deleted_at', 'is', null),
  ),
  identified: prepare((given: { id: string }) =>
    query.selectFrom('workspaces').selectAll().where('id', '=', given.id).where('deleted_at', 'is', null),
  ),
  taken: prepare((given: { name: string }) =>
    query.selectFrom('workspaces').select('deleted_at').where('name', '=', given.name),
  ),
  leaving: prepare((given: { workspace: string }) =>
    query
      .selectFrom('resources')
      .select(['uid', 'kind', 'workspace', 'parent', 'name'])
      .where('workspace', '=', given.workspace),
  ),
})

const writing = (prepare: Prepare) => ({
  add: prepare((given: WorkspaceRow) =>
    query.insertInto('workspaces').values({
      id: given.id,
      name: given.name,
      account: given.account,
      display_name: given.display_name,
      labels: given.labels,
      created_by: given.created_by,
      updated_by: given.updated_by,
      created_at: given.created_at,
      updated_at: given.updated_at,
      deleted_at: given.deleted_at,
    }),
  ),
  update: prepare((given: WorkspaceRow) =>
    query
      .updateTable('workspaces')
      .set({
        display_name: given.display_name,
        labels: given.labels,
        updated_by: given.updated_by,
        updated_at: given.updated_at,
      })
      .where('name', '=', given.name),
  ),
  remove: prepare((given: { name: string; now: number }) =>
    query.updateTable('workspaces').set({ deleted_at: given.now }).where('name', '=', given.name),
  ),
  removeKeys: prepare((given: { name: string; id: string }) =>
    query.deleteFrom('api_keys').where('workspace', 'in', [given.name, given.id]),
  ),
  forgetDefault: prepare((given: { name: string }) =>
    query.updateTable('api_keys').set({ default_workspace: null }).where('default_workspace', '=', given.name),
  ),
})

/** Everything but the look-ups must run inside a transaction. */
export const workspaces = (prepare: Prepare) => {
  const run = { ...reading(prepare), ...writing(prepare) }
  // A name wins over an id of the same text: names are what callers write.
  const rowOf = (key: string): WorkspaceRow | undefined =>
    run.named.get({ name: key }) ?? run.identified.get({ id: key })
  const find = (key: string): Workspace | undefined => {
    const row = rowOf(key)
    return row && toWorkspace(row)
  }
  const need = (name: string): Workspace => {
    const found = find(name)
    if (!found) throw fail('not_found', { kind: 'workspace', name })
    return found
  }
  return {
    find,
    ofAccount: (account: string): Workspace[] => run.ofAccount.all({ account }).map(toWorkspace),
    isTaken: (name: string): boolean => run.taken.get({ name }) !== undefined,
    /** Throws `not_found` for one that was deleted. */
    needLive(name: string): void {
      if (run.taken.get({ name })?.deleted_at) throw fail('not_found', { kind: 'workspace', name })
    },
    add: (workspace: Workspace): void => void run.add.run(toWorkspaceRow(workspace)),
    update(name: string, change: WorkspaceChange): Workspace {
      const before = rowOf(name)
      // What is not replaced has to be known.
      if (before && !change.labels) labelsIn(before)
      const row = toWorkspaceRow({ ...need(name), ...change })
      run.update.run(row)
      return toWorkspace(row)
    },
    /**
     * Deletes it with the keys that are bound to it, and answers the resources that are left to be removed. Throws
     * `wrong_state` for the last one of its account.
     */
    remove(nameOrId: string, now: number) {
      const { name, id, account } = need(nameOrId)
      if (run.ofAccount.all({ account }).length === 1)
        throw fail('wrong_state', { kind: 'workspace', name, state: 'the last one of its account', wanted: 'a delete' })
      run.removeKeys.run({ name, id })
      run.forgetDefault.run({ name })
      run.remove.run({ name, now })
      return run.leaving.all({ workspace: name })
    },
  }
}

export type WorkspaceRows = ReturnType<typeof workspaces>

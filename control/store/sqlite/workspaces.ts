/** Workspaces as rows. One that was deleted keeps its row and is not found any more. */
import { sql } from 'kysely'
import { fail } from '../../../shared/errors.ts'
import type { Workspace, WorkspaceChange } from '../store.ts'
import type { KeyWriting } from './keys.ts'
import { query, type Prepare } from './prepared.ts'
import type { WorkspaceRow } from './tables.ts'

const toWorkspace = (row: WorkspaceRow): Workspace => {
  const labels = JSON.parse(row.labels) as Record<string, string>
  return {
    id: row.id,
    name: row.name,
    account: row.account,
    displayName: row.display_name,
    ...(Object.keys(labels).length > 0 ? { labels } : {}),
    ...(row.created_by ? { createdBy: row.created_by } : {}),
    ...(row.updated_by ? { updatedBy: row.updated_by } : {}),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

const toRow = (workspace: Workspace): WorkspaceRow => ({
  id: workspace.id,
  name: workspace.name,
  account: workspace.account,
  display_name: workspace.displayName,
  labels: JSON.stringify(workspace.labels ?? {}),
  created_by: workspace.createdBy ?? '',
  updated_by: workspace.updatedBy ?? '',
  created_at: workspace.createdAt,
  updated_at: workspace.updatedAt ?? workspace.createdAt,
  deleted_at: null,
})

const reading = (prepare: Prepare) => ({
  ofAccount: prepare((given: { account: string }) =>
    query
      .selectFrom('workspaces')
      .selectAll()
      .where('account', '=', given.account)
      .where('deleted_at', 'is', null)
      .orderBy('name'),
  ),
  // A name wins over an id of the same text: names are what callers write.
  find: prepare((given: { key: string }) =>
    query
      .selectFrom('workspaces')
      .selectAll()
      .where(or => or.or([or('name', '=', given.key), or('id', '=', given.key)]))
      .where('deleted_at', 'is', null)
      .orderBy(by => by('name', '=', given.key), 'desc')
      .limit(1),
  ),
  taken: prepare((given: { name: string }) =>
    query.selectFrom('workspaces').select('deleted_at').where('name', '=', given.name),
  ),
  // Rows of these kinds go with it; whatever else there is keeps it.
  held: prepare((given: { workspace: string; kinds: string }) =>
    query
      .selectFrom('counts')
      .where('workspace', '=', given.workspace)
      .where('kind', 'not in', sql<string>`(SELECT value FROM json_each(${given.kinds}))`)
      .groupBy('kind')
      .select(['kind', ({ fn }) => fn.sum<number>('count').as('count')]),
  ),
  leaving: prepare((given: { workspace: string }) =>
    query.selectFrom('resources').select('uid').where('workspace', '=', given.workspace),
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
  removeResource: prepare((given: { uid: string }) => query.deleteFrom('resources').where('uid', '=', given.uid)),
  removeReferences: prepare((given: { uid: string }) => query.deleteFrom('refs').where('uid', '=', given.uid)),
  removeClaims: prepare((given: { uid: string }) => query.deleteFrom('claims').where('uid', '=', given.uid)),
})

/** Everything but the look-ups must run inside a transaction. */
export const workspaces = (prepare: Prepare, keys: KeyWriting) => {
  const run = { ...reading(prepare), ...writing(prepare) }
  const find = (key: string): Workspace | undefined => {
    const row = run.find.get({ key })
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
    add: (workspace: Workspace): void => void run.add.run(toRow(workspace)),
    update(name: string, change: WorkspaceChange): Workspace {
      const row = toRow({ ...need(name), ...change })
      run.update.run(row)
      return toWorkspace(row)
    },
    remove(name: string, kinds: readonly string[], now: number): Workspace {
      const found = need(name)
      const held = run.held.all({ workspace: found.name, kinds: JSON.stringify(kinds) })
      const users = held.slice(0, 3).map(({ kind, count }) => `${kind} (${count})`)
      if (users.length > 0)
        throw fail('in_use', { kind: 'workspace', name: found.name, users, more: held.length - users.length })
      for (const { uid } of run.leaving.all({ workspace: found.name })) {
        keys.removeOf.run({ owner: uid })
        run.removeReferences.run({ uid })
        run.removeClaims.run({ uid })
        run.removeResource.run({ uid })
      }
      run.removeKeys.run({ name: found.name, id: found.id })
      run.remove.run({ name: found.name, now })
      return found
    },
  }
}

export type WorkspaceRows = ReturnType<typeof workspaces>

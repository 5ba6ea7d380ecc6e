import type { Instance, Instances, Key } from '../store.ts'
import { sql } from 'kysely'
import { query, type Prepare } from './prepared.ts'
import { toInstance } from './rows.ts'
import type { InstanceRow } from './tables.ts'
import type { Transact } from './transact.ts'

const statements = (prepare: Prepare) => ({
  byId: prepare((given: { id: string }) => query.selectFrom('instances').selectAll().where('id', '=', given.id)),
  byOwner: prepare((given: { owner: string }) =>
    query.selectFrom('instances').selectAll().where('owner', '=', given.owner).orderBy('created_at').orderBy('id'),
  ),
  byOwners: prepare((given: { owners: string }) =>
    query
      .selectFrom('instances')
      .selectAll()
      .where('owner', 'in', sql<string>`(SELECT value FROM json_each(${given.owners}))`)
      .orderBy('created_at')
      .orderBy('id'),
  ),
  byKey: prepare((given: Key) =>
    query
      .selectFrom('instances')
      .selectAll()
      .where('kind', '=', given.kind)
      .where('workspace', '=', given.workspace)
      .where('parent', '=', given.parent)
      .where('name', '=', given.name)
      .orderBy('created_at')
      .orderBy('id'),
  ),
  every: prepare(() => query.selectFrom('instances').selectAll().orderBy('created_at').orderBy('id')),
})

export const sqliteInstances = (prepare: Prepare, { look }: Transact): Instances => {
  const run = statements(prepare)
  const found = (rows: readonly InstanceRow[]): Instance[] => rows.map(toInstance)
  return {
    get: id =>
      look(() => {
        const row = run.byId.get({ id })
        return row && toInstance(row)
      }),
    ofOwner: owner => look(() => found(run.byOwner.all({ owner }))),
    ofOwners: owners => look(() => found(run.byOwners.all({ owners: JSON.stringify(owners) }))),
    ofKey: key => look(() => found(run.byKey.all(key))),
    every: () => look(() => found(run.every.all({}))),
  }
}

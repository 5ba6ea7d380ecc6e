import type { Instance, Instances, Key } from '../store.ts'
import { sql } from 'kysely'
import { query, type Prepare } from './prepared.ts'
import { readEach } from './read-json.ts'
import { digestIn, toInstance } from './rows.ts'
import type { Remembered } from './remembered.ts'
import type { InstanceRow } from './tables.ts'
import type { Transact } from './transact.ts'

const statements = (prepare: Prepare) => ({
  byId: prepare((given: { id: string }) => query.selectFrom('instances').selectAll().where('id', '=', given.id)),
  byOwner: prepare((given: { owner: string }) =>
    query.selectFrom('instances').selectAll().where('owner', '=', given.owner),
  ),
  byOwners: prepare((given: { owners: string }) =>
    query
      .selectFrom('instances')
      .selectAll()
      .where('owner', 'in', sql<string>`(SELECT value FROM json_each(${given.owners}))`),
  ),
  byKey: prepare((given: Key) =>
    query
      .selectFrom('instances')
      .selectAll()
      .where('kind', '=', given.kind)
      .where('workspace', '=', given.workspace)
      .where('parent', '=', given.parent)
      .where('name', '=', given.name),
  ),
  every: prepare(() => query.selectFrom('instances').selectAll()),
  images: prepare(() => query.selectFrom('instances').select(['id', 'image']).where('image', 'is not', null)),
})

/**
 * Oldest first. Sorted here: each request looks for the instances of one owner, of which there are few, and an ORDER BY costs
 * as much as the rest of the query, also where the index has the order.
 */
const byAge = (a: InstanceRow, b: InstanceRow): number =>
  a.created_at - b.created_at || (a.id === b.id ? 0 : a.id < b.id ? -1 : 1)

export const sqliteInstances = (prepare: Prepare, { look }: Transact, memory: Pick<Remembered, 'of'>): Instances => {
  const run = statements(prepare)
  const each = (rows: readonly InstanceRow[], unreadable?: (row: InstanceRow, error: unknown) => void): Instance[] =>
    readEach(rows.toSorted(byAge), toInstance, unreadable)
  const found = (rows: readonly InstanceRow[]): Instance[] => each(rows)
  // Each request to a workload looks for its machines, and each read of a record.
  const ofKey = memory.of(text => {
    const [kind = '', workspace = '', parent = '', name = ''] = text.split('\n')
    const rows = run.byKey.all({ kind, workspace, parent, name })
    return rows.length > 0 ? found(rows) : undefined
  })
  const ofOwner = memory.of(owner => {
    const rows = run.byOwner.all({ owner })
    return rows.length > 0 ? found(rows) : undefined
  })
  return {
    get: id =>
      look(() => {
        const row = run.byId.get({ id })
        return row && toInstance(row)
      }),
    ofOwner: owner => look(() => [...(ofOwner(owner) ?? [])]),
    ofOwners: (owners, unreadable) =>
      look(() =>
        each(
          run.byOwners.all({ owners: JSON.stringify(owners) }),
          unreadable && (({ owner }, error) => unreadable(owner, error)),
        ),
      ),
    ofKey: ({ kind, workspace, parent, name }) =>
      look(() => [...(ofKey(`${kind}\n${workspace}\n${parent}\n${name}`) ?? [])]),
    every: unreadable => look(() => each(run.every.all({}), unreadable && (({ id }, error) => unreadable(id, error)))),
    digests: () => look(() => new Set(run.images.all({}).map(digestIn))),
  }
}

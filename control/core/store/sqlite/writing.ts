/** Statements that write resources and instances; `apply.ts` runs them. */
import { sql } from 'kysely'
import type { ResourceEvent } from '../store.ts'
import { query, type Prepare } from './prepared.ts'
import type { InstanceRow, ResourceRow } from './tables.ts'

const ofResources = (prepare: Prepare) => ({
  byUid: prepare((given: { uid: string }) => query.selectFrom('resources').selectAll().where('uid', '=', given.uid)),
  insert: prepare((given: ResourceRow) =>
    query.insertInto('resources').values({
      uid: given.uid,
      kind: given.kind,
      workspace: given.workspace,
      parent: given.parent,
      name: given.name,
      version: given.version,
      status: given.status,
      external_id: given.external_id,
      search: given.search,
      created_at: given.created_at,
      updated_at: given.updated_at,
      body: given.body,
    }),
  ),
  update: prepare((given: ResourceRow) =>
    query
      .updateTable('resources')
      .set({
        version: given.version,
        status: given.status,
        external_id: given.external_id,
        search: given.search,
        updated_at: given.updated_at,
        body: given.body,
      })
      .where('uid', '=', given.uid),
  ),
  remove: prepare((given: { uid: string }) => query.deleteFrom('resources').where('uid', '=', given.uid)),
})

interface Inside {
  workspace: string
  path: string
  kinds: string
}

const insideOf = ({ workspace, kinds }: Inside) =>
  query
    .selectFrom('resources')
    .select(['uid', 'kind', 'workspace', 'parent', 'name'])
    .where('kind', 'in', sql<string>`(SELECT value FROM json_each(${kinds}))`)
    .where('workspace', '=', workspace)

// Two statements, because a range that is the one or the other would be looked for in no index.
const ofInside = (prepare: Prepare) => ({
  children: prepare((given: Inside) => insideOf(given).where('parent', '=', given.path)),
  // '0' is the character after '/': the range holds everything below the path.
  deeper: prepare((given: Inside) =>
    insideOf(given)
      .where('parent', '>=', sql<string>`${given.path} || '/'`)
      .where('parent', '<', sql<string>`${given.path} || '0'`),
  ),
})

interface EventGiven extends Omit<ResourceEvent, 'revision' | 'canaryRevision'> {
  uid: string
  revision: string | null
  canaryRevision: string | null
}

const ofEvents = (prepare: Prepare) => ({
  addEvent: prepare((given: EventGiven) =>
    query.insertInto('events').values({
      uid: given.uid,
      time: given.time,
      type: given.type,
      status: given.status,
      message: given.message,
      revision: given.revision,
      canary_revision: given.canaryRevision,
    }),
  ),
})

/** What of an instance's row may change. */
const changing = (given: InstanceRow) => ({
  owner: given.owner,
  kind: given.kind,
  workspace: given.workspace,
  parent: given.parent,
  name: given.name,
  revision: given.revision,
  driver: given.driver,
  version: given.version,
  status: given.status,
  address: given.address,
  image: given.image,
  created_at: given.created_at,
  started_at: given.started_at,
  turned_at: given.turned_at,
  last_used_at: given.last_used_at,
  attempts: given.attempts,
  errors: given.errors,
  body: given.body,
})

const ofInstances = (prepare: Prepare) => ({
  instance: prepare((given: { id: string }) => query.selectFrom('instances').selectAll().where('id', '=', given.id)),
  instancesOf: prepare((given: { owner: string }) =>
    query.selectFrom('instances').selectAll().where('owner', '=', given.owner),
  ),
  insertInstance: prepare((given: InstanceRow) =>
    query.insertInto('instances').values({
      id: given.id,
      ...changing(given),
    }),
  ),
  updateInstance: prepare((given: InstanceRow) =>
    query.updateTable('instances').set(changing(given)).where('id', '=', given.id),
  ),
  removeInstance: prepare((given: { id: string }) => query.deleteFrom('instances').where('id', '=', given.id)),
})

export const writing = (prepare: Prepare) => ({
  ...ofResources(prepare),
  ...ofInside(prepare),
  ...ofEvents(prepare),
  ...ofInstances(prepare),
})

export type Writing = ReturnType<typeof writing>

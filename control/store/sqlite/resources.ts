import { fail } from '../../../shared/errors.ts'
import type { Key, Resource, ResourceEvent, Resources } from '../store.ts'
import type { lister } from './listing.ts'
import { query, type Prepare } from './prepared.ts'
import type { Recorder } from './recorder.ts'
import { toEvent, toResource, toRow } from './rows.ts'
import type { ResourceRow } from './tables.ts'
import { isDuplicate, type Transact } from './transact.ts'

const reading = (prepare: Prepare) => ({
  byKey: prepare((given: Key) =>
    query
      .selectFrom('resources')
      .selectAll()
      .where('kind', '=', given.kind)
      .where('workspace', '=', given.workspace)
      .where('parent', '=', given.parent)
      .where('name', '=', given.name),
  ),
  byUid: prepare((given: { uid: string }) => query.selectFrom('resources').selectAll().where('uid', '=', given.uid)),
  byExternalId: prepare((given: { kind: string; workspace: string; externalId: string }) =>
    query
      .selectFrom('resources')
      .selectAll()
      .where('kind', '=', given.kind)
      .where('workspace', '=', given.workspace)
      .where('external_id', '=', given.externalId)
      .orderBy('created_at', 'desc')
      .orderBy('uid', 'desc'),
  ),
  count: prepare((given: { kind: string; workspace: string }) =>
    query
      .selectFrom('counts')
      .where('kind', '=', given.kind)
      .where('workspace', '=', given.workspace)
      .select(({ fn }) => fn.sum<number | null>('count').as('count')),
  ),
  countIn: prepare((given: { kind: string; workspace: string; parent: string }) =>
    query
      .selectFrom('counts')
      .where('kind', '=', given.kind)
      .where('workspace', '=', given.workspace)
      .where('parent', '=', given.parent)
      .select('count'),
  ),
  everyOf: prepare((given: { kind: string }) =>
    query.selectFrom('resources').selectAll().where('kind', '=', given.kind),
  ),
  events: prepare((given: { uid: string }) =>
    query.selectFrom('events').selectAll().where('uid', '=', given.uid).orderBy('id'),
  ),
})

const writing = (prepare: Prepare) => ({
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
  addEvent: prepare((given: Omit<ResourceEvent, 'revision'> & { uid: string; revision: string | null }) =>
    query.insertInto('events').values({
      uid: given.uid,
      time: given.time,
      type: given.type,
      status: given.status,
      message: given.message,
      revision: given.revision,
    }),
  ),
})

interface Parts {
  readonly prepare: Prepare
  readonly transact: Transact
  readonly recorder: Recorder
  readonly list: ReturnType<typeof lister>
}

const readers = ({ prepare, transact, list }: Parts) => {
  const { read, look } = transact
  const run = reading(prepare)
  return {
    get: key =>
      look(() => {
        const row = run.byKey.get(key)
        return row && toResource(row)
      }),
    getByUid: uid =>
      look(() => {
        const row = run.byUid.get({ uid })
        return row && toResource(row)
      }),
    getByExternalId: (kind, workspace, externalId, exceptStatuses) =>
      look(() => {
        const rows = run.byExternalId.all({ kind, workspace, externalId })
        const row = rows.find(({ status }) => !exceptStatuses.includes(status))
        return row && toResource(row)
      }),
    list: listing => read(() => list(listing)),
    count: (kind, workspace, parent) =>
      look(() => {
        const row =
          parent === undefined ? run.count.get({ kind, workspace }) : run.countIn.get({ kind, workspace, parent })
        return row?.count ?? 0
      }),
    everyOf: kind => look(() => run.everyOf.all({ kind }).map(toResource)),
    events: uid => look(() => run.events.all({ uid }).map(toEvent)),
  } satisfies Partial<Resources>
}

export const sqliteResources = (parts: Parts): Resources => {
  const { prepare, transact, recorder } = parts
  const { write } = transact
  const run = { byUid: reading(prepare).byUid, ...writing(prepare) }
  const addEvent = (uid: string, event: ResourceEvent | undefined) => {
    if (event) run.addEvent.run({ ...event, uid, revision: event.revision ?? null })
  }
  const insert = (resource: Resource) => {
    try {
      run.insert.run(toRow(resource))
    } catch (error) {
      if (isDuplicate(error)) throw fail('already_exists', { kind: resource.kind, name: resource.name }, error)
      throw error
    }
  }
  return {
    ...readers(parts),
    create: (resource, { event, rates }) =>
      write(() => {
        insert(resource)
        addEvent(resource.uid, event)
        if (rates) recorder.replace(resource, rates, resource.createdAt)
        return resource
      }),
    update: (uid, version, change, now) =>
      write(() => {
        const row = run.byUid.get({ uid })
        if (row?.version !== version)
          throw fail('changed_meanwhile', { kind: row?.kind ?? 'resource', name: row?.name ?? uid })
        const before = toResource(row)
        const after: Resource = {
          ...before,
          version: version + 1,
          status: change.status ?? before.status,
          metadata: change.metadata ?? before.metadata,
          spec: change.spec ?? before.spec,
          internal: change.internal ?? before.internal,
          updatedAt: now,
        }
        run.update.run(toRow(after))
        addEvent(uid, change.event)
        if (change.rates) recorder.replace(after, change.rates, now)
        return after
      }),
    remove: (uid, now) =>
      write(() => {
        run.remove.run({ uid })
        recorder.close(uid, now)
      }),
  }
}

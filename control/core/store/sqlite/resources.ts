import type { Key, Resources } from '../store.ts'
import type { Claims } from './claims.ts'
import type { lister } from './listing.ts'
import { query, type Prepare } from './prepared.ts'
import { readEach } from './read-json.ts'
import type { References } from './references.ts'
import type { Remembered } from './remembered.ts'
import { toEvent, toOutline, toResource } from './rows.ts'
import type { Transact } from './transact.ts'

const statements = (prepare: Prepare) => ({
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
  events: prepare((given: { uid: string }) => query.selectFrom('events').selectAll().where('uid', '=', given.uid)),
})

interface Parts {
  readonly prepare: Prepare
  readonly transact: Transact
  readonly references: References
  readonly claims: Claims
  readonly list: ReturnType<typeof lister>
  /** What is remembered of records and their events. */
  readonly memory: Pick<Remembered, 'of'>
}

/** Whoever reads it next gets the same object. */
const frozen = <T>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const part of Object.values(value)) frozen(part)
  return Object.freeze(value)
}

/** What reads of one record look at. */
const remembering = (run: ReturnType<typeof statements>, { memory, claims }: Pick<Parts, 'memory' | 'claims'>) => {
  const record = memory.of(text => {
    const [kind = '', workspace = '', parent = '', name = ''] = text.split('\n')
    const row = run.byKey.get({ kind, workspace, parent, name })
    return row && frozen(toResource(row))
  })
  // Sorted here: an ORDER BY costs as much as the rest of the query.
  const events = memory.of(uid => {
    const rows = run.events.all({ uid })
    return frozen(rows.toSorted((a, b) => a.id - b.id).map(toEvent))
  })
  const ofUid = (uid: string | undefined) => {
    const row = uid === undefined ? undefined : run.byUid.get({ uid })
    return row && frozen(toResource(row))
  }
  const claimant = memory.of(text => {
    const [kind = '', workspace = '', claim = ''] = text.split('\n')
    return ofUid(claims.holder(kind, workspace, claim))
  })
  const byClaim = memory.of(text => {
    const [kind = '', claim = ''] = text.split('\n')
    return ofUid(claims.anywhere(kind, claim))
  })
  return { record, events, claimant, byClaim }
}

export const sqliteResources = (parts: Parts): Resources => {
  const { prepare, transact, references, list } = parts
  const { read, look } = transact
  const run = statements(prepare)
  const { record, events, claimant, byClaim } = remembering(run, parts)
  return {
    get: ({ kind, workspace, parent, name }) => look(() => record(`${kind}\n${workspace}\n${parent}\n${name}`)),
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
    outline: key =>
      look(() => {
        const row = run.byKey.get(key)
        return row && toOutline(row)
      }),
    list: listing => read(() => list(listing)),
    count: (kind, workspace, parent) =>
      look(() => {
        const row =
          parent === undefined ? run.count.get({ kind, workspace }) : run.countIn.get({ kind, workspace, parent })
        return row?.count ?? 0
      }),
    everyOf: (kind, tell) =>
      look(() =>
        readEach(run.everyOf.all({ kind }), toResource, tell && ((row, error) => tell(row.uid, error, toOutline(row)))),
      ),
    events: uid => look(() => [...(events(uid) ?? [])]),
    claimant: (kind, workspace, claim) => look(() => claimant(`${kind}\n${workspace}\n${claim}`)),
    byClaim: (kind, claim) => look(() => byClaim(`${kind}\n${claim}`)),
    usages: (target, limit) => look(() => references.usages(target, limit)),
    usageCounts: target => look(() => references.counts(target)),
  }
}

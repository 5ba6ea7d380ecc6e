import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import t from 'tap'
import { auditing, sqliteAudit } from '../../../../../control/core/store/sqlite/audit.ts'
import { sqliteInstances } from '../../../../../control/core/store/sqlite/instances.ts'
import { lister } from '../../../../../control/core/store/sqlite/listing.ts'
import { migrate } from '../../../../../control/core/store/sqlite/migrate.ts'
import { migrations } from '../../../../../control/core/store/sqlite/migrations/index.ts'
import { preparer, shaped } from '../../../../../control/core/store/sqlite/prepared.ts'
import { references } from '../../../../../control/core/store/sqlite/references.ts'
import { fromHour, fromRollups, fromTotals, notRolled } from '../../../../../control/core/store/sqlite/sums.ts'
import { remembering } from '../../../../../control/core/store/sqlite/remembered.ts'
import { transactions } from '../../../../../control/core/store/sqlite/transact.ts'
import { writing } from '../../../../../control/core/store/sqlite/writing.ts'
import type { Listing, Sort } from '../../../../../control/core/store/store.ts'

/** A database that remembers what it was asked. */
const watched = (path: string) => {
  const asked: { sql: string; values: unknown[] }[] = []
  const db = new BetterSqlite(path)
  migrate(db, migrations)
  const prepare = db.prepare.bind(db)
  const watch = (sql: string) => {
    const statement = prepare(sql)
    const all = statement.all.bind(statement)
    statement.all = (...values: unknown[]) => {
      asked.push({ sql, values })
      return all(...values)
    }
    return statement
  }
  db.prepare = watch as typeof db.prepare
  const planOf = ({ sql, values }: { sql: string; values: unknown[] }) =>
    (prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values) as { detail: string }[]).map(({ detail }) => detail)
  return { db, plans: () => asked.splice(0).map(planOf) }
}

t.test('every page is a range of an index in the order asked for: nothing is scanned, nothing is sorted', async t => {
  const { db, plans } = watched(join(t.testdir(), 'hutch.db'))
  t.teardown(() => db.close())
  const add = db.prepare(
    `INSERT INTO resources VALUES (?, 'sandbox', 'main', '', ?, 1, ?, NULL, '', 1, 1, '{"metadata":{},"spec":{},"internal":{}}')`,
  )
  for (const status of ['DEPLOYED', 'FAILED', 'TERMINATED']) add.run(status, status, status)
  const list = lister(db, preparer(db))
  const filters: Partial<Listing>[] = [{}, { parent: '' }, { exceptStatuses: ['TERMINATED'] }, { statuses: ['FAILED'] }]
  for (const sort of ['createdAt:desc', 'createdAt:asc', 'name:asc', 'name:desc'] as Sort[])
    for (const filter of [
      ...filters,
      { q: 'abc' },
      { parent: 'p', statuses: ['FAILED'] },
      { externalId: 'e', statuses: ['FAILED'] },
    ])
      for (const after of [{}, { after: { value: sort.startsWith('name') ? 'b' : 5, uid: 'u' } }]) {
        const label = `${sort} ${JSON.stringify({ ...filter, ...after })}`
        // Few resources share an external id: those are found by it and sorted.
        const sorts = 'externalId' in filter
        list({ kind: 'sandbox', workspace: 'main', sort, limit: 50, ...filter, ...after })
        for (const plan of plans()) {
          t.notOk(
            plan.some(line => line.startsWith('SCAN resources')),
            `${label}: ${plan.join('; ')}`,
          )
          if (!sorts)
            t.notOk(
              plan.some(line => /TEMP B-TREE/.test(line)),
              `${label}: ${plan.join('; ')}`,
            )
          const narrow = sorts ? /resources_by_external_id/ : /resources_by_(parent_created|key)/
          const looked = plan.filter(line => /(SEARCH|SCAN) resources/.test(line))
          if ((sorts || filter.parent) && !plan.some(line => /present/.test(line)))
            t.match(looked.join(), narrow, label)
        }
      }
})

t.test('instances, what lives inside, and who names whom are found by an index', async t => {
  const { db, plans } = watched(join(t.testdir(), 'hutch.db'))
  t.teardown(() => db.close())
  const prepare = preparer(db)
  const instances = sqliteInstances(prepare, transactions(db), remembering(db).anew())
  const key = { kind: 'sandbox', workspace: 'main', parent: '', name: 'a' }
  const planOf = async (run: () => unknown) => {
    await run()
    return plans().flat().join('; ')
  }
  t.match(await planOf(() => instances.ofOwner('u')), /^SEARCH instances USING INDEX instances_by_owner \(owner=\?\)$/)
  t.match(
    await planOf(() => instances.ofKey(key)),
    /^SEARCH instances USING INDEX instances_by_key \(kind=\?.*name=\?\)$/,
  )
  t.match(await planOf(() => instances.ofOwners(['u'])), /SEARCH instances USING INDEX instances_by_owner \(owner=\?\)/)
  const named = references(prepare)
  t.match(
    await planOf(() => named.counts(key)),
    /^SEARCH refs USING COVERING INDEX refs_by_target \(kind=\?.*name=\?\)/,
  )
  t.match(
    await planOf(() => named.usages(key, 3)),
    /^SEARCH refs USING INDEX refs_by_target|SEARCH refs USING COVERING INDEX refs_by_target/,
  )
  const audit = sqliteAudit(auditing(prepare, { find: () => undefined }), transactions(db))
  const inOrder = /^SEARCH audit USING INDEX audit_by_\w+ \([^)]*(rowid|seq)<\?\)$/
  const ofAudit = { account: 'a', limit: 5 }
  t.match(await planOf(() => audit.list(ofAudit)), inOrder, 'an account is not sorted for every page of it')
  t.match(await planOf(() => audit.list({ ...ofAudit, workspace: 'main' })), inOrder)
  const { children, deeper } = writing(prepare)
  const inside = { workspace: 'main', path: 'a', kinds: '["preview"]' }
  const by = 'SEARCH resources USING INDEX resources_by_\\w+ \\(kind=\\? AND workspace=\\? AND parent'
  t.match(await planOf(() => children.all(inside)), new RegExp(`^${by}=\\?\\)`))
  t.match(await planOf(() => deeper.all(inside)), new RegExp(`^${by}>\\? AND parent<\\?\\)`))
})

t.test(
  'reports read the rollups of their window, or of their resource, and of the intervals only what is needed',
  async t => {
    const { db, plans } = watched(join(t.testdir(), 'hutch.db'))
    t.teardown(() => db.close())
    const run = shaped(db)
    const all = { account: 'acme', from: 1, to: 5, buckets: [1], groupBy: [] }
    const columns = { workspace: true, type: true, name: true, uid: true }
    const range = { from: 1, to: 5, grain: 2 } as const
    const planOf = (built: Parameters<typeof run>[0]) => {
      run(built)
      return plans().flat().join('; ')
    }
    const inWindow = /SEARCH (rollups|totals) USING PRIMARY KEY \(grain=\? AND workspace=\? AND start[>=]/
    const ofResource = /SEARCH rollups USING (COVERING )?INDEX rollups_by_subject \(subject=\? AND start[>=]/
    t.match(planOf(fromTotals(all, columns, range)), inWindow)
    t.match(planOf(fromRollups(all, columns, range)), inWindow)
    t.match(planOf(fromHour(all, columns, range)), inWindow)
    for (const one of [{ resourceName: 'x' }, { resourceUuid: 'x' }]) {
      t.match(planOf(fromRollups({ ...all, ...one }, columns, range)), ofResource)
      t.match(planOf(fromHour({ ...all, ...one }, columns, range)), ofResource)
    }
    t.match(planOf(fromHour(all, columns, range)), /SEARCH intervals USING INDEX intervals_by_subject .*from_at>/)
    t.match(planOf(notRolled(all, columns, 9)), /intervals USING INDEX intervals_to_roll/)
  },
)

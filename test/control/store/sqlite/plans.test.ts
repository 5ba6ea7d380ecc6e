import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import t from 'tap'
import { lister } from '../../../../control/store/sqlite/listing.ts'
import { migrate } from '../../../../control/store/sqlite/migrate.ts'
import { migrations } from '../../../../control/store/sqlite/migrations/index.ts'
import { preparer } from '../../../../control/store/sqlite/prepared.ts'
import type { Listing, Sort } from '../../../../control/store/store.ts'

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
  const add = db.prepare(`INSERT INTO resources VALUES (?, 'sandbox', 'main', '', ?, 1, ?, NULL, '', 1, 1, '{}')`)
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

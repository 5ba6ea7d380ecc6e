import type { Database } from 'better-sqlite3'
import { sql } from 'kysely'
import { fromQuanta } from '../amounts.ts'
import type { Meter } from '../store.ts'
import { query, type Prepare } from './prepared.ts'
import type { Recorder } from './recorder.ts'
import { rolling } from './rolling.ts'
import type { Transact } from './transact.ts'
import { usageReader } from './usage.ts'

const statements = (prepare: Prepare) => ({
  account: prepare((given: { now: number; except: string }) =>
    query
      .updateTable('intervals')
      .set({ accounted_to: given.now })
      .where('to_at', 'is', null)
      .where('accounted_to', '<', given.now)
      .where('subject', 'not in', from =>
        from
          .selectFrom('subjects')
          .select('id')
          .where('uid', 'in', sql<string>`(SELECT value FROM json_each(${given.except}))`),
      ),
  ),
  intervals: prepare((given: { uid: string }) =>
    query
      .selectFrom('intervals')
      .innerJoin('subjects', 'subjects.id', 'intervals.subject')
      .innerJoin('dimensions', 'dimensions.id', 'intervals.dimension')
      .where('subjects.uid', '=', given.uid)
      .select([
        'subjects.uid as uid',
        'subjects.workspace as workspace',
        'subjects.resource_type as resourceType',
        'subjects.name as resourceName',
        'dimensions.name as dimension',
        'intervals.quantity as quantity',
        'intervals.from_at as from',
        'intervals.to_at as to',
      ])
      .orderBy('intervals.from_at')
      .orderBy('intervals.id'),
  ),
})

export const sqliteMeter = (parts: {
  db: Database
  prepare: Prepare
  transact: Transact
  recorder: Recorder
}): Meter => {
  const { db, prepare, transact, recorder } = parts
  const { read, write } = transact
  const run = statements(prepare)
  const { roll, rebuild } = rolling(db)
  const usage = usageReader(db)
  return {
    checkpoint: (now, except = []) =>
      write(() => {
        run.account.run({ now, except: JSON.stringify(except) })
        roll()
      }),
    count: (subject, dimension, quantity, now) => write(() => recorder.count(subject, dimension, quantity, now)),
    usage: (asked, now) => read(() => usage(asked, now)),
    resourceTypes: (whose, from, to, now) =>
      read(() => {
        const rows = usage({ ...whose, from, to, buckets: [from], groupBy: ['resource_type'] }, now)
        return [...new Set(rows.filter(row => row.parts > 0n).map(row => row.resourceType))].sort()
      }),
    intervals: uid =>
      read(() => run.intervals.all({ uid }).map(row => ({ ...row, quantity: fromQuanta(row.quantity) }))),
    rebuild: () => write(rebuild),
  }
}

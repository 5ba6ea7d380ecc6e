/**
 * Rollups are computed from intervals: cut at hours, summed per hour, day and month (UTC), once per subject and once
 * over all subjects of a type. `rolled_to` of an interval says how far the rollups contain it, and moves in the same
 * transaction, so that each millisecond is counted once.
 */
import type { Database } from 'better-sqlite3'
import { limb } from './columns.ts'

const hourMs = 3_600_000

/** How far an interval can be rolled: to its end when closed, else over the full hours that it is accounted for. */
const limit = `coalesce(to_at, accounted_to - accounted_to % ${hourMs})`

const pieces = `
  INSERT INTO pieces (start, workspace, resource_type, subject, dimension, high, low)
  WITH RECURSIVE cut (subject, dimension, quantity, at, until, last) AS (
    SELECT subject, dimension, quantity, rolled_to,
           min(${limit}, rolled_to - rolled_to % ${hourMs} + ${hourMs}), ${limit}
    FROM intervals WHERE (to_at IS NULL OR rolled_to < to_at) AND rolled_to < ${limit}
    UNION ALL
    SELECT subject, dimension, quantity, until, min(last, until + ${hourMs}), last FROM cut WHERE until < last
  )
  SELECT at - at % ${hourMs}, s.workspace, s.resource_type, cut.subject, cut.dimension,
         sum(quantity * (until - at) / ${limb}), sum(quantity * (until - at) % ${limb})
  FROM cut JOIN subjects s ON s.id = cut.subject
  GROUP BY 1, cut.subject, cut.dimension`

const startOf = {
  0: 'start',
  1: 'start - start % 86400000',
  2: `unixepoch(start / 1000, 'unixepoch', 'start of month') * 1000`,
} as const

const adding = (grain: 0 | 1 | 2): readonly string[] => [
  `INSERT INTO rollups (grain, workspace, start, subject, dimension, high, low)
   SELECT ${grain}, workspace, ${startOf[grain]} AS at, subject, dimension, sum(high), sum(low) FROM pieces
   GROUP BY workspace, at, subject, dimension
   ON CONFLICT DO UPDATE SET high = high + excluded.high, low = low + excluded.low`,
  `INSERT INTO totals (grain, workspace, start, resource_type, dimension, high, low)
   SELECT ${grain}, workspace, ${startOf[grain]} AS at, resource_type, dimension, sum(high), sum(low) FROM pieces
   GROUP BY workspace, at, resource_type, dimension
   ON CONFLICT DO UPDATE SET high = high + excluded.high, low = low + excluded.low`,
]

/** Must run inside a write transaction. */
export interface Rolling {
  /** Moves what is complete into the rollups. */
  roll(): void
  /** Forgets all rollups and computes them again. */
  rebuild(): void
}

export const rolling = (db: Database): Rolling => {
  db.exec(`
    CREATE TEMP TABLE pieces (
      start INTEGER NOT NULL, workspace TEXT NOT NULL, resource_type TEXT NOT NULL,
      subject INTEGER NOT NULL, dimension INTEGER NOT NULL, high INTEGER NOT NULL, low INTEGER NOT NULL
    ) STRICT`)
  const cut = db.prepare(pieces)
  const add = ([0, 1, 2] as const).flatMap(adding).map(text => db.prepare(text))
  const mark = db.prepare(`
    UPDATE intervals SET rolled_to = ${limit}
    WHERE (to_at IS NULL OR rolled_to < to_at) AND rolled_to < ${limit}`)
  const clear = db.prepare('DELETE FROM pieces')
  const forget = [
    'DELETE FROM rollups',
    'DELETE FROM totals',
    'UPDATE intervals SET rolled_to = from_at WHERE rolled_to > from_at',
  ].map(text => db.prepare(text))
  const roll = () => {
    if (cut.run().changes === 0) return
    for (const statement of add) statement.run()
    mark.run()
    clear.run()
  }
  return {
    roll,
    rebuild() {
      for (const statement of forget) statement.run()
      roll()
    },
  }
}

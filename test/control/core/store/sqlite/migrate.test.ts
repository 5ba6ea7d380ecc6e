import { join } from 'node:path'
import BetterSqlite, { type Database } from 'better-sqlite3'
import t, { type Test } from 'tap'
import { migrate, type Migration } from '../../../../../control/core/store/sqlite/migrate.ts'
import { migrations } from '../../../../../control/core/store/sqlite/migrations/index.ts'

const fresh = (t: Test): Database => {
  const db = new BetterSqlite(join(t.testdir(), 'hutch.db'))
  t.teardown(() => db.close())
  return db
}

const tables = (db: Database) =>
  (
    db.prepare(`SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name`).all() as {
      name: string
      sql: string
    }[]
  ).filter(({ name }) => !name.startsWith('sqlite_'))

const one: Migration = { version: 1, name: 'one', up: 'CREATE TABLE one (a INTEGER) STRICT' }
const two: Migration = {
  version: 2,
  name: 'two',
  up: 'CREATE TABLE two (a INTEGER) STRICT; INSERT INTO one VALUES (2)',
}

t.test('migrations run once each, in order', async t => {
  const db = fresh(t)
  t.same(migrate(db, [one]), { from: 0, to: 1 })
  t.same(migrate(db, [one, two]), { from: 1, to: 2 })
  t.same(migrate(db, [one, two]), { from: 2, to: 2 })
  t.same(db.prepare('SELECT a FROM one').all(), [{ a: 2 }])
  t.throws(() => migrate(db, [one]), { code: 'unavailable', message: /schema 2 and this build knows 1/ })
})

t.test('a migration that fails leaves the schema before it', async t => {
  const db = fresh(t)
  const broken: Migration = { ...two, up: `${two.up}; INSERT INTO nowhere VALUES (1)` }
  t.throws(() => migrate(db, [one, broken]), /nowhere/)
  t.same(
    tables(db).map(({ name }) => name),
    ['one'],
  )
  t.same(migrate(db, [one, two]), { from: 1, to: 2 })
})

t.test('the list is numbered without gaps, and every table is strict', async t => {
  const numbers = migrations.map(({ version }) => version)
  t.same(
    numbers,
    Array.from(numbers, (_, index) => index + 1),
  )
  const db = fresh(t)
  migrate(db, migrations)
  t.ok(tables(db).length >= 9)
  for (const { name, sql } of tables(db)) t.match(sql, /\) STRICT(, WITHOUT ROWID)?$/, name)
  t.same(db.pragma('integrity_check'), [{ integrity_check: 'ok' }])
  t.same(db.pragma('foreign_key_check'), [])
})

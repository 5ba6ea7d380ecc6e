import { statSync } from 'node:fs'
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import { openStore } from '../../../../../control/core/store/sqlite/open.ts'
import { silentLog } from '../../../../../shared/log.ts'
import { storeSuite } from '../../../../conformance/store.ts'
import { change, put, record } from '../../../../support/records.ts'

const open = (path: string) => openStore({ path }, { log: silentLog })

await storeSuite(t, async (t: Test) => {
  const store = await open(join(t.testdir(), 'hutch.db'))
  t.teardown(() => store.close())
  return store
})

t.test('what was written is there after opening again, readable by the owner alone', async t => {
  const path = join(t.testdir(), 'deep', 'hutch.db')
  const first = await open(path)
  await put(first, record({ name: 'box' }))
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.equal(statSync(`${path}-wal`).mode & 0o777, 0o600)
  await first.close()
  const second = await open(path)
  t.teardown(() => second.close())
  t.match(await second.resources.getByUid('uid-box'), { name: 'box' })
})

t.test('a database that a newer build has written is refused and left alone', async t => {
  const path = join(t.testdir(), 'hutch.db')
  const db = new BetterSqlite(path)
  db.pragma('user_version = 999')
  db.close()
  await t.rejects(open(path), { code: 'unavailable', message: /schema 999/ })
  const after = new BetterSqlite(path)
  t.teardown(() => after.close())
  t.equal(after.pragma('user_version', { simple: true }), 999)
  t.same(after.prepare('SELECT name FROM sqlite_master').all(), [])
})

t.test('a file that is no database, and a place that cannot be written, are typed errors', async t => {
  const dir = t.testdir({ 'hutch.db': 'not a database, whatever its name says'.repeat(100), file: '' })
  await t.rejects(open(join(dir, 'hutch.db')), { code: 'unavailable' })
  await t.rejects(open(join(dir, 'file', 'hutch.db')), { code: 'unavailable' })
})

t.test('two processes may share the file: a second opening sees and adds to the first', async t => {
  const path = join(t.testdir(), 'hutch.db')
  const [one, two] = [await open(path), await open(path)]
  t.teardown(() => Promise.all([one.close(), two.close()]))
  await put(one, record({ name: 'a' }))
  await change(two, ['uid-a', 1], { status: 'FAILED' }, 2)
  await t.rejects(change(one, ['uid-a', 1], {}, 3), { code: 'changed_meanwhile' })
})

/** A row of any kind that cannot be read: lists leave it out and name it, a delete removes it, and no other is kept from anything. */
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import t from 'tap'
import { control } from '../../../support/control.ts'
import { exampleNamed, makeExample, nameOf, withoutMachines } from '../../../support/kinds.ts'

const older = { headers: { 'svc-version': '2026-04-16' } }

const itemsIn = (body: unknown): unknown[] => (Array.isArray(body) ? body : (body as { data: unknown[] }).data)

t.test('every kind that can be listed and deleted', async t => {
  const made = await control(t)
  for (const kind of withoutMachines(made.kinds.values()).filter(({ example }) => example))
    await makeExample(made, kind, undefined)
  const db = new BetterSqlite(join(made.dataDir, 'hutch.db'))
  t.teardown(() => db.close())
  const { call, store } = made
  const [tried, left] = [[] as string[], [] as string[]]
  for (const kind of withoutMachines(made.kinds.values()))
    await t.test(kind.kind, async t => {
      if (!kind.verbs.includes('delete') || !kind.example) return void left.push(kind.kind)
      tried.push(kind.kind)
      const { collection, name: whole } = await makeExample(made, kind, undefined)
      const before = new Set((await store.resources.everyOf(kind.kind)).map(({ uid }) => uid))
      const answer = await call('POST', collection, exampleNamed(kind, 'torn'))
      t.equal(answer.status, 200, answer.text)
      const row = (await store.resources.everyOf(kind.kind)).find(({ uid }) => !before.has(uid))
      db.prepare("UPDATE resources SET body = '{' WHERE uid = ?").run(row?.uid)
      // What the store remembers of records it forgets with the next write.
      await call('PUT', '/policies/forget', { spec: {} })
      const stored = row?.name ?? ''
      for (const options of kind.listedSince ? [{}] : [{}, older]) {
        const { status, body, headers, text } = await call('GET', collection, undefined, options)
        t.equal(status, 200, text)
        const names = itemsIn(body).map(item => nameOf(kind, item))
        t.notOk(names.includes(nameOf(kind, answer.body)), 'it is left out')
        t.ok(names.includes(whole), 'the other is not')
        t.equal(headers['x-svc-warnings'], `"${stored} cannot be read"`)
      }
      if (kind.verbs.includes('get')) t.equal((await call('GET', `${collection}/${stored}`)).status, 503)
      const gone = await call('DELETE', `${collection}/${stored}`)
      t.ok([200, 204].includes(gone.status), gone.text)
      const [told] = (await call('GET', `/audit?kind=${kind.kind}&action=${kind.removalEvent}`)).body.data
      t.match(told, { uid: row?.uid, detail: { unreadable: true } })
      t.equal((await call('GET', collection)).headers['x-svc-warnings'], undefined)
      const after = await store.resources.getByUid(row?.uid ?? '')
      if (kind.removal === 'immediate') t.equal(after, undefined)
      else t.equal(after?.status, kind.life?.next(row?.status ?? '', kind.removalEvent, row as never))
    })
  t.same(left, ['task', 'imageShare'], 'those that nobody deletes')
  t.ok(tried.length > 15)
})

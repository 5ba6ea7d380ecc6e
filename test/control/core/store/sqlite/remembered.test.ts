/** Look-ups are remembered, and never older than the database. */
import { join } from 'node:path'
import BetterSqlite from 'better-sqlite3'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { openStore } from '../../../../../control/core/store/sqlite/open.ts'
import { remembering } from '../../../../../control/core/store/sqlite/remembered.ts'
import { silentLog } from '../../../../../shared/log.ts'
import { addTenants, change, erase, instanceOf, put, putInstance, record } from '../../../../support/records.ts'

const key = {
  id: 'k',
  hash: 'a'.repeat(64),
  name: 'key',
  account: 'acme',
  workspace: null,
  role: 'admin',
  accountAdmin: true,
  createdAt: 1,
  expiresAt: null,
  scopes: null,
  owner: null,
  person: null,
  defaultWorkspace: null,
} as const

/** Two as two processes have them: what one writes, the other sees from its next turn of the event loop on. */
const twoOnOne = async (t: Test) => {
  const path = join(t.testdir(), 'hutch.db')
  const [one, other] = [await openStore({ path }, { log: silentLog }), await openStore({ path }, { log: silentLog })]
  t.teardown(() => Promise.all([one.close(), other.close()]))
  await one.tenants.addAccount({ id: 'acme', displayName: '', createdAt: 1 })
  return [one.tenants, other.tenants] as const
}

t.test('a key that is revoked is gone at once, here and in another process', async t => {
  const [one, other] = await twoOnOne(t)
  await one.addApiKey(key)
  for (const tenants of [one, other, one, other]) t.equal((await tenants.apiKeyByHash(key.hash))?.id, 'k')
  await other.removeApiKey('k')
  await turn()
  for (const tenants of [one, other]) t.equal(await tenants.apiKeyByHash(key.hash), undefined)
  await one.addApiKey(key)
  await turn()
  for (const tenants of [other, one]) t.equal((await tenants.apiKeyByHash(key.hash))?.id, 'k')
  await one.removeApiKey('k')
  await turn()
  for (const tenants of [one, other]) t.equal(await tenants.apiKeyByHash(key.hash), undefined)
})

t.test('a workspace that comes is seen at once, by name, by id and in the list', async t => {
  const [one, other] = await twoOnOne(t)
  const add = async (tenants: typeof one, name: string, id: string) => {
    await tenants.addWorkspace({ id, name, account: 'acme', displayName: '', createdAt: 1 })
    await turn()
  }
  const names = async (tenants: typeof one) => (await tenants.workspaces('acme')).map(({ name }) => name)
  t.same([await names(one), await names(other)], [[], []])
  await add(one, 'first', 'id-1')
  t.same([await names(one), await names(other)], [['first'], ['first']])
  t.equal((await one.workspace('second'))?.id, undefined)
  t.equal((await one.workspace('id-1'))?.name, 'first')
  // A name wins over an id of the same text, also when the id was asked for before.
  await add(other, 'id-1', 'id-2')
  t.equal((await one.workspace('id-1'))?.id, 'id-2')
  t.same(
    [await names(one), await names(other)],
    [
      ['first', 'id-1'],
      ['first', 'id-1'],
    ],
  )
})

t.test(
  'a record, its events and its machines are read as they were written last, whoever wrote, and by which way',
  async t => {
    const path = join(t.testdir(), 'hutch.db')
    const [one, other] = [await openStore({ path }, { log: silentLog }), await openStore({ path }, { log: silentLog })]
    t.teardown(() => Promise.all([one.close(), other.close()]))
    await addTenants(one)
    const box = record({ name: 'box', spec: { size: 1 } })
    const seen = async (store: typeof one) => {
      const found = await store.resources.get(box)
      const events = await store.resources.events(box.uid)
      const machines = await store.instances.ofOwner(box.uid)
      return [found?.status, (found?.spec as { size?: number } | undefined)?.size, events.length, machines.length]
    }
    const both = async (wanted: unknown[]) => {
      await turn()
      for (const store of [one, other, one, other]) t.same(await seen(store), wanted)
    }
    const none = [undefined, undefined, 0, 0]
    await both(none)
    const event = { time: 1, type: 'x', status: 'DEPLOYED', message: '' }
    await put(one, box, event)
    t.same(await seen(one), ['DEPLOYED', 1, 1, 0], 'at once where it was written')
    await both(['DEPLOYED', 1, 1, 0])
    await putInstance(other, instanceOf(box))
    t.same(await seen(other), ['DEPLOYED', 1, 1, 1])
    await both(['DEPLOYED', 1, 1, 1])
    await change(other, [box.uid, 1], { status: 'FAILED', event }, 2)
    t.same(await seen(other), ['FAILED', 1, 2, 1])
    await both(['FAILED', 1, 2, 1])
    await one.upkeep.rewrite(body => body.replace('"size":1', '"size":2'))
    t.same(await seen(one), ['FAILED', 2, 2, 1])
    await both(['FAILED', 2, 2, 1])
    const found = (await one.resources.get(box)) as { status: string }
    t.throws(
      () => {
        found.status = 'x'
      },
      TypeError,
      'what many read nobody changes',
    )
    await erase(one, box.uid, 3)
    t.equal(await one.resources.get(box), undefined)
  },
)

t.test('what is known is not looked for again; what is not found is', async t => {
  const db = new BetterSqlite(':memory:')
  t.teardown(() => db.close())
  const asked: string[] = []
  const memory = remembering(db).anew()
  const look = memory.of(name => {
    asked.push(name)
    return name === 'none' ? undefined : { name }
  })
  t.same([look('a'), look('a'), look('none'), look('none')], [{ name: 'a' }, { name: 'a' }, undefined, undefined])
  t.same(asked, ['a', 'none', 'none'])
  memory.forget()
  look('a')
  t.same(asked, ['a', 'none', 'none', 'a'])
})

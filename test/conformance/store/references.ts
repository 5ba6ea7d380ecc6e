import type { Test } from 'tap'
import type { Reference, Write, WritableStore } from '../../../control/core/store/store.ts'
import { change, erase, put, record } from '../../support/records.ts'
import type { Open } from '../store.ts'

const disk = { kind: 'volume', workspace: 'main', parent: '', name: 'disk' }
const volume = record({ kind: 'volume', name: 'disk' })
const toDisk: Reference = { field: 'spec.volumes.0.name', kind: 'volume', parent: '', name: 'disk' }

const user = (name: string, references: readonly Reference[], given: object = {}): Write => ({
  type: 'create',
  resource: record({ name, ...given }),
  references,
})

const removal = async (store: WritableStore, uid: string): Promise<Write> => {
  const found = await store.resources.getByUid(uid)
  return { type: 'remove', uid, version: found?.version ?? 0, unlessReferenced: true }
}

export const referencesSuite = async (t: Test, open: Open): Promise<void> => {
  await t.test('a target that is not there is refused by the field that names it, and nothing is written', async t => {
    const store = await open(t)
    const refused = { code: 'invalid_argument', message: 'spec.volumes.0.name: volume "disk" not found' }
    await t.rejects(store.apply([user('web', [toDisk])], 1), refused)
    t.equal(await store.resources.count('sandbox', 'main'), 0)
    await put(store, { ...volume, workspace: 'other' })
    await t.rejects(store.apply([user('web', [toDisk])], 1), refused, 'one of another workspace is none')
    await put(store, { ...volume, uid: 'inner', parent: 'p' })
    await t.rejects(store.apply([user('web', [toDisk])], 1), refused, 'nor is one inside something')
    await put(store, { ...volume, uid: 'over', status: 'TERMINATED' })
    const except = { ...toDisk, exceptStatuses: ['TERMINATED'] }
    const over = { ...refused, message: 'spec.volumes.0.name: volume "disk" is TERMINATED' }
    await t.rejects(store.apply([user('web', [except])], 1), over, 'nor one that is over')
    await store.apply([user('web', [toDisk])], 1)
    t.same(await store.resources.usageCounts(disk), { sandbox: 1 })
  })

  await t.test('a target that is written in the same list is there', async t => {
    const store = await open(t)
    await store.apply([{ type: 'create', resource: volume }, user('web', [toDisk])], 1)
    t.same(await store.resources.usageCounts(disk), { sandbox: 1 })
  })

  await t.test('who names it can be listed and counted by kind; each counts once', async t => {
    const store = await open(t)
    await put(store, volume)
    await put(store, { ...volume, uid: 'other', name: 'other' })
    const second = { ...toDisk, field: 'spec.volumes.1.name' }
    await store.apply([user('b', [toDisk, second]), user('a', [toDisk]), user('j', [toDisk], { kind: 'job' })], 1)
    await store.apply([user('c', [{ ...toDisk, name: 'other' }]), user('d', [])], 1)
    t.same(await store.resources.usageCounts(disk), { sandbox: 2, job: 1 })
    t.same(
      (await store.resources.usages(disk, 10)).map(({ kind, name, field }) => `${kind} ${name} ${field}`),
      [
        'job j spec.volumes.0.name',
        'sandbox a spec.volumes.0.name',
        'sandbox b spec.volumes.0.name',
        'sandbox b spec.volumes.1.name',
      ],
    )
    t.equal((await store.resources.usages(disk, 2)).length, 2)
    t.same(await store.resources.usageCounts({ ...disk, workspace: 'other' }), {})
  })

  await t.test(
    'references follow the record: replaced with it, kept by a change of something else, gone with it',
    async t => {
      const store = await open(t)
      await put(store, volume)
      await store.apply([user('web', [toDisk])], 1)
      await change(store, ['uid-web', 1], { status: 'FAILED' }, 2)
      t.same(await store.resources.usageCounts(disk), { sandbox: 1 })
      const drop: Write = { type: 'update', uid: 'uid-web', version: 2, change: {}, references: [] }
      await store.apply([drop], 3)
      t.same(await store.resources.usageCounts(disk), {})
      await store.apply([{ ...drop, version: 3, references: [toDisk] }], 4)
      const missing = { ...toDisk, name: 'none' }
      await t.rejects(store.apply([{ ...drop, version: 4, references: [missing] }], 5), { code: 'invalid_argument' })
      t.same(await store.resources.usageCounts(disk), { sandbox: 1 }, 'a refused change changes nothing')
      await erase(store, 'uid-web', 6)
      t.same(await store.resources.usageCounts(disk), {})
    },
  )

  await t.test(
    'what is named cannot be removed, or begin to go, where that is asked; the error names a few users',
    async t => {
      const store = await open(t)
      await put(store, volume)
      await store.apply([user('web', [toDisk])], 1)
      const inUse = { code: 'in_use', status: 409, message: 'volume "disk" is in use by sandbox "web"' }
      await t.rejects(store.apply([await removal(store, volume.uid)], 2), inUse)
      const leave: Write = {
        type: 'update',
        uid: volume.uid,
        version: 1,
        change: { status: 'DELETING' },
        unlessReferenced: true,
      }
      await t.rejects(store.apply([leave], 2), inUse)
      t.same(await store.resources.getByUid(volume.uid), volume)
      for (const name of ['a', 'b', 'c', 'd']) await store.apply([user(name, [toDisk])], 3)
      await t.rejects(store.apply([await removal(store, volume.uid)], 4), {
        message: 'volume "disk" is in use by sandbox "a", sandbox "b", sandbox "c" and 2 more',
      })
      for (const name of ['a', 'b', 'c', 'd', 'web']) await erase(store, `uid-${name}`, 5)
      await store.apply([leave], 6)
      await store.apply([await removal(store, volume.uid)], 7)
      t.equal(await store.resources.getByUid(volume.uid), undefined)
    },
  )

  await t.test(
    'users that go in the same list do not stand in the way; one that does not ask is not asked',
    async t => {
      const store = await open(t)
      await put(store, volume)
      await store.apply([user('p', [toDisk], { kind: 'mount', parent: 'disk' })], 1)
      await store.apply(
        [{ type: 'removeInside', workspace: 'main', path: 'disk', kinds: ['mount'] }, await removal(store, volume.uid)],
        2,
      )
      await put(store, volume)
      await store.apply([user('web', [toDisk])], 3)
      await erase(store, volume.uid, 4)
      t.same(await store.resources.usageCounts(disk), { sandbox: 1 }, 'the name is still named')
    },
  )
}

import type { Test } from 'tap'
import { instanceOf, put, putInstance, record, turn } from '../../support/records.ts'
import type { Open } from '../store.ts'

const web = record({ name: 'web', createdAt: 10 })

export const instancesSuite = async (t: Test, open: Open): Promise<void> => {
  await t.test('an instance comes back as it was written, by id, owner and key', async t => {
    const store = await open(t)
    const { instances } = store
    const full = instanceOf(web, {
      id: 'i-1',
      address: { host: '10.0.0.1', port: 8080 },
      image: { digest: 'd', rootfs: '/r' },
      startedAt: 11,
      turnedAt: 12,
      lastUsedAt: 13,
      attempts: 2,
      errors: [{ code: 'C', message: 'm', time: '2026-01-01T00:00:00.000Z', fatal: false }],
      memoryMb: 512,
      heldBytes: 7,
    })
    const bare = instanceOf(web, { id: 'i-2', status: 'starting', createdAt: 20 })
    for (const one of [bare, full]) await putInstance(store, one)
    t.same(await instances.get('i-1'), full)
    t.same(await instances.get('i-2'), bare)
    t.same(await instances.ofOwner('uid-web'), [full, bare], 'oldest first')
    const { kind, workspace, parent, name } = web
    t.same(await instances.ofKey({ kind, workspace, parent, name }), [full, bare])
    for (const wrong of [{ kind: 'agent' }, { workspace: 'other' }, { parent: 'p' }, { name: 'we' }])
      t.same(await instances.ofKey({ kind, workspace, parent, name, ...wrong }), [])
    t.equal(await instances.get('none'), undefined)
    t.same(await instances.ofOwner('none'), [])
    t.same(await instances.every(), [full, bare])
  })

  await t.test('those of many owners come at once; one without any has none', async t => {
    const store = await open(t)
    const of = (name: string, id: string, createdAt: number) =>
      putInstance(store, instanceOf(record({ name }), { id, createdAt }))
    await of('a', 'a-2', 2)
    await of('b', 'b-1', 1)
    await of('c', 'c-1', 1)
    await of('a', 'a-1', 1)
    const found = await store.instances.ofOwners(['uid-a', 'uid-b', 'uid-none'])
    t.same(
      found.map(({ id }) => id),
      ['a-1', 'b-1', 'a-2'],
    )
    t.same(await store.instances.ofOwners([]), [])
  })

  await t.test(
    'a change swaps on the version, keeps what it does not name, and clears what it names as nothing',
    async t => {
      const store = await open(t)
      const made = await putInstance(store, instanceOf(web, { id: 'i', attempts: 1, address: { host: 'h', port: 1 } }))
      const changed = await turn(store, ['i', 1], { change: { status: 'standby', turnedAt: 5 } }, 5)
      t.same(changed, { ...made, version: 2, status: 'standby', turnedAt: 5 })
      t.same(await store.instances.get('i'), changed)
      const cleared = await turn(store, ['i', 2], { change: { address: undefined } }, 6)
      t.equal(Object.hasOwn(cleared, 'address'), false)
      t.same(await store.instances.get('i'), cleared)
      await t.rejects(turn(store, ['i', 2], { change: { status: 'x' } }, 7), { code: 'changed_meanwhile', retry: true })
      await t.rejects(turn(store, ['none', 1], {}, 7), { code: 'changed_meanwhile' })
      const drop = (version: number) => store.apply([{ type: 'removeInstance', id: 'i', version }], 8)
      await t.rejects(drop(2), { code: 'changed_meanwhile' })
      await drop(3)
      t.equal(await store.instances.get('i'), undefined)
      await t.rejects(drop(3), { code: 'changed_meanwhile' })
    },
  )

  await t.test('an id is taken once', async t => {
    const store = await open(t)
    await putInstance(store, instanceOf(web, { id: 'i' }))
    await t.rejects(putInstance(store, instanceOf(record({ name: 'other' }), { id: 'i' })), { code: 'already_exists' })
    t.match(await store.instances.get('i'), { owner: { name: 'web' } })
  })

  await t.test(
    'a machine that is given to somebody is found with its new owner, and billed under its name',
    async t => {
      const store = await open(t)
      const pool = record({ name: 'pool', kind: 'pool', workspace: '' })
      await putInstance(store, instanceOf(pool, { id: 'i' }))
      await put(store, web)
      const { owner } = instanceOf(web)
      const rates = [{ dimension: 'sandbox_compute_runtime_gbs', quantity: 1 }]
      await turn(store, ['i', 1], { change: { owner }, metered: { rates } }, 1_000)
      t.same(await store.instances.ofOwner(pool.uid), [])
      t.match(await store.instances.ofKey(owner), [{ id: 'i', owner }])
      t.match(await store.meter.intervals('i'), [{ workspace: 'main', resourceName: 'web', from: 1_000, to: null }])
    },
  )
}

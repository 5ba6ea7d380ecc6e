import type { Test } from 'tap'
import { change, erase, put, record } from '../../support/records.ts'
import type { Open } from '../store.ts'

export const resourcesSuite = async (t: Test, open: Open): Promise<void> => {
  await t.test('a record comes back as it was written, by each of its keys', async t => {
    const store = await open(t)
    const { resources } = store
    const metadata = { displayName: 'Ö', externalId: 'e-1', labels: { a: 'B' }, createdBy: 'x', updatedBy: 'y' }
    const made = record({ name: 'box', metadata, spec: { deep: [1, { two: null }] }, internal: { slot: 7 } })
    t.same(await put(store, made), made)
    const { kind, workspace, parent, name, uid } = made
    t.same(await resources.get({ kind, workspace, parent, name }), made)
    t.same(await resources.getByUid(uid), made)
    const { metadata: _metadata, spec: _spec, internal: _internal, ...outline } = made
    t.same(await resources.outline({ kind, workspace, parent, name }), outline)
    t.same(await resources.getByExternalId('sandbox', 'main', 'e-1', []), made)
    t.same(await resources.everyOf('sandbox'), [made])
    for (const wrong of [{ kind: 'agent' }, { workspace: 'other' }, { parent: 'p' }, { name: 'bo' }])
      for (const look of [resources.get, resources.outline])
        t.equal(await look({ kind, workspace, parent, name, ...wrong }), undefined)
    t.equal(await resources.getByExternalId('sandbox', 'other', 'e-1', []), undefined)
    t.same(await resources.everyOf('agent'), [])
  })

  await t.test('a name is taken once in its kind, workspace and parent', async t => {
    const store = await open(t)
    const { resources } = store
    await put(store, record({ name: 'box' }))
    for (const [index, elsewhere] of [{ kind: 'agent' }, { workspace: 'other' }, { parent: 'p' }].entries())
      await put(store, record({ name: 'box', uid: `u${index}`, ...elsewhere }))
    const event = { time: 1, type: 't', status: 's', message: 'm' }
    const again = record({ name: 'box', uid: 'again' })
    await t.rejects(put(store, again, event), {
      code: 'already_exists',
      details: { kind: 'sandbox', name: 'box' },
    })
    t.equal(await resources.getByUid('again'), undefined)
    t.same(await resources.events('again'), [], 'the event of a refused create is not there')
    t.equal(await resources.count('sandbox', 'main'), 2)
    t.equal(await resources.count('sandbox', 'main', ''), 1)
    t.equal(await resources.count('sandbox', 'main', 'p'), 1)
  })

  await t.test('an update swaps on the version and leaves out nothing that was not named', async t => {
    const store = await open(t)
    const { resources } = store
    const made = record({ name: 'box', spec: { a: 1 }, internal: { b: 2 } })
    await put(store, made)
    const changed = await change(store, ['uid-box', 1], { status: 'FAILED', spec: { a: 3 } }, 2_000)
    t.same(changed, { ...made, version: 2, status: 'FAILED', spec: { a: 3 }, updatedAt: 2_000 })
    t.same(await resources.getByUid('uid-box'), changed)
    const stale = { status: 'DELETED', event: { time: 1, type: 't', status: 's', message: 'm' } }
    await t.rejects(change(store, ['uid-box', 1], stale, 3_000), { code: 'changed_meanwhile', retry: true })
    await t.rejects(change(store, ['gone', 1], stale, 3_000), { code: 'changed_meanwhile' })
    t.same(await resources.getByUid('uid-box'), changed)
    t.same(await resources.events('uid-box'), [])
  })

  await t.test('of many updates on one version exactly one wins', async t => {
    const store = await open(t)
    const { resources } = store
    await put(store, record({ name: 'box' }))
    const tries = Array.from({ length: 20 }, (_, index) => change(store, ['uid-box', 1], { spec: { index } }, 2_000))
    const results = await Promise.allSettled(tries)
    const won = results.filter(result => result.status === 'fulfilled')
    t.equal(won.length, 1)
    t.same(await resources.getByUid('uid-box'), won[0]?.value)
  })

  await t.test('external ids follow the metadata; the newest that is not left out answers', async t => {
    const store = await open(t)
    const { resources } = store
    const metadata = { externalId: 'e', createdBy: '', updatedBy: '' }
    await put(store, record({ name: 'old', metadata, createdAt: 1 }))
    await put(store, record({ name: 'new', metadata, createdAt: 3, status: 'TERMINATED' }))
    await put(store, record({ name: 'mid', metadata, createdAt: 2 }))
    const find = async (...except: string[]) => (await resources.getByExternalId('sandbox', 'main', 'e', except))?.name
    t.equal(await find(), 'new')
    t.equal(await find('TERMINATED'), 'mid')
    t.equal(await find('TERMINATED', 'DEPLOYED'), undefined)
    await change(store, ['uid-mid', 1], { metadata: { createdBy: '', updatedBy: '' } }, 4)
    t.equal(await find('TERMINATED'), 'old')
  })

  await t.test('events stay in order and outlive their resource, which is removed once', async t => {
    const store = await open(t)
    const { resources } = store
    const event = (message: string, time: number) => ({ time, type: 'state', status: 'S', message })
    await put(store, record({ name: 'box' }), event('one', 5))
    await change(store, ['uid-box', 1], { event: { ...event('two', 5), revision: 'r' } }, 5)
    await change(store, ['uid-box', 2], { event: event('three', 4) }, 5)
    await erase(store, 'uid-box', 6)
    const gone = store.apply([{ type: 'remove', uid: 'uid-box', version: 3 }], 7)
    await t.rejects(gone, { code: 'changed_meanwhile' })
    t.equal(await resources.getByUid('uid-box'), undefined)
    t.same(await resources.events('uid-box'), [
      event('one', 5),
      { ...event('two', 5), revision: 'r' },
      event('three', 4),
    ])
    await put(store, record({ name: 'box', uid: 'next' }))
    t.same(await resources.events('next'), [], 'the name is free again, and a new life has no old events')
  })
}

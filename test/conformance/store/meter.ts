import type { Test } from 'tap'
import type { Store, WritableStore } from '../../../control/core/store/store.ts'
import { addTenants, erase, instanceOf, put, putInstance, record, turn } from '../../support/records.ts'
import type { Open } from '../store.ts'

const compute = 'sandbox_compute_runtime_gbs'
const snapshot = 'sandbox_snapshot_storage_gbs'
const start = Date.UTC(2026, 0, 31, 22)
const hour = 3_600_000

const opened = async (t: Test, open: Open): Promise<WritableStore> => {
  const store = await open(t)
  await addTenants(store)
  return store
}

const box = record({ name: 'box', createdAt: start })

/** The machine of a sandbox `box`, metered for 4 GB from `start` on. */
const run = async (store: WritableStore, rates = [{ dimension: compute, quantity: 4 }]) =>
  putInstance(store, instanceOf(box), rates)

/** GB-seconds of account acme over all time. */
const total = async ({ meter }: Store, now: number): Promise<number> => {
  const rows = await meter.usage({ account: 'acme', from: 0, to: start + 1e12, buckets: [0], groupBy: [] }, now)
  return rows.reduce((sum, row) => sum + row.usage, 0)
}

export const meterSuite = async (t: Test, open: Open): Promise<void> => {
  await t.test('rates follow the state: each change closes what was open and opens what is new', async t => {
    const store = await opened(t, open)
    const { meter } = store
    await run(store)
    await turn(store, ['uid-box', 1], { metered: { rates: [{ dimension: snapshot, quantity: 0.5 }] } }, start + 1_000)
    await turn(store, ['uid-box', 2], { change: { attempts: 1 } }, start + 2_000)
    await turn(store, ['uid-box', 3], { metered: { rates: [] } }, start + 3_500)
    const whose = { uid: 'uid-box', workspace: 'main', resourceType: 'sandbox', resourceName: 'box' }
    t.same(await meter.intervals('uid-box'), [
      { ...whose, dimension: compute, quantity: 4, from: start, to: start + 1_000 },
      { ...whose, dimension: snapshot, quantity: 0.5, from: start + 1_000, to: start + 3_500 },
    ])
    t.equal(await total(store, start + hour), 4 + 0.5 * 2.5)
    t.same(await meter.intervals('nobody'), [])
  })

  await t.test('a change that loses its race leaves the meter alone', async t => {
    const store = await opened(t, open)
    const { meter } = store
    await run(store)
    const late = turn(store, ['uid-box', 9], { metered: { rates: [] } }, start + 1_000)
    await t.rejects(late, { code: 'changed_meanwhile' })
    t.match(await meter.intervals('uid-box'), [{ from: start, to: null }])
  })

  await t.test('removing closes; the bill outlives the machine, and a new life of the name is another one', async t => {
    const store = await opened(t, open)
    const { meter } = store
    await run(store)
    await store.apply([{ type: 'removeInstance', id: 'uid-box', version: 1 }], start + 10_000)
    const next = instanceOf(record({ name: 'box', uid: 'second', createdAt: start + hour }))
    await putInstance(store, next, [{ dimension: compute, quantity: 1 }])
    t.equal(await total(store, start + hour + 5_000), 45)
    const rows = await meter.usage(
      { account: 'acme', from: 0, to: start + 2 * hour, buckets: [0], groupBy: ['resource_uuid'] },
      start + hour + 5_000,
    )
    t.same(rows.map(row => [row.resourceUuid, row.resourceName, row.usage]).toSorted(), [
      ['second', 'box', 5],
      ['uid-box', 'box', 40],
    ])
  })

  await t.test('checkpoints and rebuilding change no sum', async t => {
    const store = await opened(t, open)
    const { meter } = store
    await run(store)
    for (const at of [1, 30 * 60_000, hour, hour, 3 * hour + 5, 40 * hour]) {
      await meter.checkpoint(start + at)
      t.equal(await total(store, start + at), (4 * at) / 1000, `after ${at} ms`)
    }
    await turn(store, ['uid-box', 1], { metered: { rates: [] } }, start + 41 * hour)
    for (const step of ['closed', 'rolled', 'rebuilt']) {
      if (step === 'rolled') await meter.checkpoint(start + 42 * hour)
      if (step === 'rebuilt') await meter.rebuild(start + 42 * hour)
      t.equal(await total(store, start + 50 * hour), 4 * 41 * 3600, step)
    }
  })

  await t.test('what ended at a time nobody saw is closed where it was last accounted for', async t => {
    const store = await opened(t, open)
    const { meter } = store
    const lost = { metered: { rates: [], lost: true } }
    await run(store)
    const fresh = instanceOf(record({ name: 'fresh', createdAt: start + 4 * hour }))
    await putInstance(store, fresh, [{ dimension: compute, quantity: 4 }])
    await meter.checkpoint(start + 3 * hour + 7)
    await turn(store, ['uid-box', 1], lost, start + 90 * hour)
    await turn(store, ['uid-fresh', 1], lost, start + 90 * hour)
    t.match(await meter.intervals('uid-box'), [{ from: start, to: start + 3 * hour + 7 }])
    t.match(await meter.intervals('uid-fresh'), [{ from: start + 4 * hour, to: start + 4 * hour }])
    t.equal(await total(store, start + 99 * hour), (4 * (3 * hour + 7)) / 1000)
    const again = { metered: { rates: [{ dimension: compute, quantity: 1 }] } }
    await turn(store, ['uid-box', 2], again, start + 91 * hour)
    t.match((await meter.intervals('uid-box')).at(-1), { from: start + 91 * hour, to: null })
  })

  await t.test('a record that is removed costs nothing any more, though its machine is still to go', async t => {
    const store = await opened(t, open)
    await put(store, box)
    await run(store)
    await erase(store, box.uid, start + hour)
    t.match(await store.meter.intervals('uid-box'), [{ from: start, to: start + hour }])
    t.match(await store.instances.get('uid-box'), { status: 'running' })
  })

  await t.test('a clock that is set back never takes away what was accounted, and counts nothing twice', async t => {
    const store = await opened(t, open)
    const { meter } = store
    await run(store)
    await meter.checkpoint(start + 2 * hour)
    await turn(store, ['uid-box', 1], { metered: { rates: [{ dimension: compute, quantity: 1 }] } }, start + hour)
    t.match(await meter.intervals('uid-box'), [{ to: start + 2 * hour }, { from: start + 2 * hour, to: null }])
    await turn(store, ['uid-box', 2], { metered: { rates: [] } }, start + 3 * hour)
    t.equal(await total(store, start + 4 * hour), (4 * 2 + 1) * 3600)
  })

  await t.test('petabytes for years add up exactly; what cannot be metered is refused and changes nothing', async t => {
    const store = await opened(t, open)
    const { meter } = store
    const most = 2 ** 20
    for (const name of ['a', 'b', 'c'])
      await putInstance(store, instanceOf(record({ name, createdAt: start })), [{ dimension: compute, quantity: most }])
    const years = 3 * 365 * 24 * hour
    for (const when of ['open', 'rolled', 'rebuilt']) {
      if (when === 'rolled') await meter.checkpoint(start + years)
      if (when === 'rebuilt') await meter.rebuild(start + years)
      t.equal(await total(store, start + years), (3 * most * years) / 1000, when)
    }
    for (const quantity of [-1, Number.NaN, Number.POSITIVE_INFINITY, most + 1]) {
      const given = { change: { status: 'X' }, metered: { rates: [{ dimension: compute, quantity }] } }
      await t.rejects(turn(store, ['uid-a', 1], given, start + years), { code: 'invalid_argument' })
    }
    t.match(await store.instances.get('uid-a'), { version: 1, status: 'running' })
    t.match(await meter.intervals('uid-a'), [{ to: null }])
  })

  await t.test('counts add up to what was counted, at any moment and after any rolling', async t => {
    const store = await opened(t, open)
    const agent = { uid: 'a', kind: 'agent', workspace: 'main', name: 'agent' }
    const counted = 'agent_async_requests_count'
    for (const at of [hour - 1, hour - 1, hour + 500]) await store.meter.count(agent, counted, 3, start + at)
    t.equal(await total(store, start + 2 * hour), 9)
    await store.meter.checkpoint(start + 2 * hour)
    t.equal(await total(store, start + 2 * hour), 9)
    const asked = { account: 'acme', from: start, to: start + 2 * hour, buckets: [start, start + hour] }
    const rows = await store.meter.usage({ ...asked, groupBy: ['resource_type'] }, start + 2 * hour)
    t.same(rows.map(row => [row.bucket, row.resourceType, row.usage]).toSorted(), [
      [0, 'agent', 6],
      [1, 'agent', 3],
    ])
  })
}

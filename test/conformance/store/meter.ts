import type { Test } from 'tap'
import type { Store } from '../../../control/store/store.ts'
import { addTenants, record } from '../../support/records.ts'
import type { Open } from '../store.ts'

const compute = 'sandbox_compute_runtime_gbs'
const snapshot = 'sandbox_snapshot_storage_gbs'
const start = Date.UTC(2026, 0, 31, 22)
const hour = 3_600_000

const opened = async (t: Test, open: Open): Promise<Store> => {
  const store = await open(t)
  await addTenants(store)
  return store
}

const made = (rates = [{ dimension: compute, quantity: 4 }]) =>
  [record({ name: 'box', createdAt: start }), { rates }] as const

/** GB-seconds of account acme over all time. */
const total = async ({ meter }: Store, now: number): Promise<number> => {
  const rows = await meter.usage({ account: 'acme', from: 0, to: start + 1e12, buckets: [0], groupBy: [] }, now)
  return rows.reduce((sum, row) => sum + row.usage, 0)
}

export const meterSuite = async (t: Test, open: Open): Promise<void> => {
  await t.test('rates follow the state: each change closes what was open and opens what is new', async t => {
    const store = await opened(t, open)
    const { resources, meter } = store
    await resources.create(...made())
    await resources.update('uid-box', 1, { rates: [{ dimension: snapshot, quantity: 0.5 }] }, start + 1_000)
    await resources.update('uid-box', 2, { status: 'FAILED' }, start + 2_000)
    await resources.update('uid-box', 3, { rates: [] }, start + 3_500)
    const whose = { uid: 'uid-box', workspace: 'main', resourceType: 'sandbox', resourceName: 'box' }
    t.same(await meter.intervals('uid-box'), [
      { ...whose, dimension: compute, quantity: 4, from: start, to: start + 1_000 },
      { ...whose, dimension: snapshot, quantity: 0.5, from: start + 1_000, to: start + 3_500 },
    ])
    t.equal(await total(store, start + hour), 4 + 0.5 * 2.5)
    t.same(await meter.intervals('nobody'), [])
  })

  await t.test('a change that loses its race leaves the meter alone', async t => {
    const { resources, meter } = await opened(t, open)
    await resources.create(...made())
    await t.rejects(resources.update('uid-box', 9, { rates: [] }, start + 1_000), { code: 'changed_meanwhile' })
    t.match(await meter.intervals('uid-box'), [{ from: start, to: null }])
  })

  await t.test(
    'removing closes; the bill outlives the resource, and a new life of the name is another one',
    async t => {
      const store = await opened(t, open)
      const { resources, meter } = store
      await resources.create(...made())
      await resources.remove('uid-box', start + 10_000)
      await resources.create(record({ name: 'box', uid: 'second', createdAt: start + hour }), {
        rates: [{ dimension: compute, quantity: 1 }],
      })
      t.equal(await total(store, start + hour + 5_000), 45)
      const rows = await meter.usage(
        { account: 'acme', from: 0, to: start + 2 * hour, buckets: [0], groupBy: ['resource_uuid'] },
        start + hour + 5_000,
      )
      t.same(rows.map(row => [row.resourceUuid, row.resourceName, row.usage]).toSorted(), [
        ['second', 'box', 5],
        ['uid-box', 'box', 40],
      ])
    },
  )

  await t.test('checkpoints and rebuilding change no sum', async t => {
    const store = await opened(t, open)
    const { resources, meter } = store
    await resources.create(...made())
    for (const at of [1, 30 * 60_000, hour, hour, 3 * hour + 5, 40 * hour]) {
      await meter.checkpoint(start + at)
      t.equal(await total(store, start + at), (4 * at) / 1000, `after ${at} ms`)
    }
    await resources.update('uid-box', 1, { rates: [] }, start + 41 * hour)
    for (const step of ['closed', 'rolled', 'rebuilt']) {
      if (step === 'rolled') await meter.checkpoint(start + 42 * hour)
      if (step === 'rebuilt') await meter.rebuild(start + 42 * hour)
      t.equal(await total(store, start + 50 * hour), 4 * 41 * 3600, step)
    }
  })

  await t.test('after a crash what cannot have run since is closed at its last checkpoint', async t => {
    const store = await opened(t, open)
    const { resources, meter } = store
    await resources.create(...made())
    await resources.create(record({ name: 'alive', createdAt: start }), {
      rates: [{ dimension: compute, quantity: 1 }],
    })
    await resources.create(record({ name: 'fresh', createdAt: start + 4 * hour }), { rates: made()[1].rates })
    await meter.checkpoint(start + 3 * hour + 7)
    await meter.closeStale(['uid-box', 'uid-fresh', 'unknown'], start + 90 * hour)
    t.match(await meter.intervals('uid-box'), [{ from: start, to: start + 3 * hour + 7 }])
    t.match(await meter.intervals('uid-alive'), [{ from: start, to: null }])
    t.match(await meter.intervals('uid-fresh'), [{ from: start + 4 * hour, to: start + 4 * hour }])
    // What closeStale leaves open can still be closed at the last checkpoint, however late it was called.
    await meter.closeStale(['uid-alive'], start + 90 * hour)
    t.match(await meter.intervals('uid-alive'), [{ to: start + 3 * hour + 7 }])
    t.equal(await total(store, start + 99 * hour), (5 * (3 * hour + 7)) / 1000)
  })

  await t.test('a clock that is set back never takes away what was accounted, and counts nothing twice', async t => {
    const store = await opened(t, open)
    const { resources, meter } = store
    await resources.create(...made())
    await meter.checkpoint(start + 2 * hour)
    await resources.update('uid-box', 1, { rates: [{ dimension: compute, quantity: 1 }] }, start + hour)
    t.match(await meter.intervals('uid-box'), [{ to: start + 2 * hour }, { from: start + 2 * hour, to: null }])
    await resources.update('uid-box', 2, { rates: [] }, start + 3 * hour)
    t.equal(await total(store, start + 4 * hour), (4 * 2 + 1) * 3600)
  })

  await t.test('petabytes for years add up exactly; what cannot be metered is refused and changes nothing', async t => {
    const store = await opened(t, open)
    const { resources, meter } = store
    const most = 2 ** 20
    for (const name of ['a', 'b', 'c'])
      await resources.create(record({ name, createdAt: start }), { rates: [{ dimension: compute, quantity: most }] })
    const years = 3 * 365 * 24 * hour
    for (const when of ['open', 'rolled', 'rebuilt']) {
      if (when === 'rolled') await meter.checkpoint(start + years)
      if (when === 'rebuilt') await meter.rebuild(start + years)
      t.equal(await total(store, start + years), (3 * most * years) / 1000, when)
    }
    for (const quantity of [-1, Number.NaN, Number.POSITIVE_INFINITY, most + 1]) {
      const rates = [{ dimension: compute, quantity }]
      await t.rejects(resources.update('uid-a', 1, { status: 'X', rates }, start + years), { code: 'invalid_argument' })
    }
    t.match(await resources.getByUid('uid-a'), { version: 1, status: 'DEPLOYED' })
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

import type { Test } from 'tap'
import { partsPerUnit } from '../../../control/core/store/amounts.ts'
import type { Interval, Store, UsageQuery, UsageRow, WritableStore } from '../../../control/core/store/store.ts'
import { addTenants, dice, instanceOf, putInstance, record, turn } from '../../support/records.ts'
import type { Open } from '../store.ts'

const hour = 3_600_000
const day = 24 * hour
const start = Date.UTC(2025, 10, 20, 7, 13, 5)
const dimensions = ['sandbox_compute_runtime_gbs', 'sandbox_snapshot_storage_gbs', 'volume_storage_gbs'] as const

/** Three months of lives that begin, change and end at odd moments, with checkpoints in between. */
const live = async (store: WritableStore, seed: number): Promise<number> => {
  const roll = dice(seed)
  const versions = new Map<string, number>()
  let now = start
  for (let step = 0; step < 160; step++) {
    now += Math.floor(roll() ** 3 * 4 * day)
    const name = `box-${Math.floor(roll() * 12)}`
    const workspace = ['main', 'other', 'theirs'][Math.floor(roll() * 3)] as string
    const uid = `${workspace}-${name}`
    const rates = dimensions.filter(() => roll() < 0.4).map(dimension => ({ dimension, quantity: roll() * 8 }))
    const version = versions.get(uid)
    if (version === undefined) {
      await putInstance(store, instanceOf(record({ name, uid, workspace, createdAt: now })), rates)
      versions.set(uid, 1)
    } else if (roll() < 0.15) {
      await store.apply([{ type: 'removeInstance', id: uid, version }], now)
      versions.delete(uid)
    } else {
      await turn(store, [uid, version], { metered: { rates } }, now)
      versions.set(uid, version + 1)
    }
    if (roll() < 0.3) await store.meter.checkpoint(now + Math.floor(roll() * hour))
  }
  return now + 3 * hour
}

const everyInterval = async ({ meter }: Store): Promise<Interval[]> => {
  const found: Interval[] = []
  for (const workspace of ['main', 'other', 'theirs'])
    for (let index = 0; index < 12; index++) found.push(...(await meter.intervals(`${workspace}-box-${index}`)))
  return found
}

/** The same report straight from the intervals. */
const expected = (intervals: readonly Interval[], asked: UsageQuery, now: number): Map<string, bigint> => {
  const by = (...names: string[]) => names.some(name => asked.groupBy.includes(name as 'workspace'))
  const cells = new Map<string, bigint>()
  for (const one of intervals) {
    if (one.workspace === 'theirs' ? asked.account !== 'rival' : asked.account !== 'acme') continue
    if (asked.workspace !== undefined && one.workspace !== asked.workspace) continue
    if (asked.resourceType !== undefined && one.resourceType !== asked.resourceType) continue
    if (asked.resourceName !== undefined && one.resourceName !== asked.resourceName) continue
    if (asked.resourceUuid !== undefined && one.uid !== asked.resourceUuid) continue
    if (asked.billingDimension !== undefined && one.dimension !== asked.billingDimension) continue
    const quanta = BigInt(Math.round(one.quantity * (Number(partsPerUnit) / 1000)))
    for (const [bucket, from] of asked.buckets.entries()) {
      const a = Math.max(from, asked.from, one.from)
      const b = Math.min(asked.buckets[bucket + 1] ?? asked.to, asked.to, one.to ?? now)
      if (b <= a) continue
      const key = JSON.stringify([
        bucket,
        by('workspace', 'resource_name', 'resource_uuid') ? one.workspace : '',
        by('resource_type', 'resource_name', 'resource_uuid', 'billing_dimension') ? one.resourceType : '',
        by('resource_name', 'resource_uuid') ? one.resourceName : '',
        by('resource_uuid') ? one.uid : '',
        one.dimension,
      ])
      const parts = quanta * BigInt(b - a)
      if (parts > 0n) cells.set(key, (cells.get(key) ?? 0n) + parts)
    }
  }
  return cells
}

const asCells = (rows: readonly UsageRow[]): [string, bigint][] =>
  rows.map(row => [
    JSON.stringify([
      row.bucket,
      row.workspace,
      row.resourceType,
      row.resourceName,
      row.resourceUuid,
      row.billingDimension,
    ]),
    row.parts,
  ])

const every = (from: number, to: number, size: number): number[] => {
  const buckets: number[] = []
  for (let at = Math.floor(from / size) * size; at < to; at += size) buckets.push(at)
  return buckets
}

const windows = (now: number): readonly Pick<UsageQuery, 'from' | 'to' | 'buckets'>[] => {
  const months = [10, 11, 12, 13, 14, 15, 16].map(month => Date.UTC(2025, month, 1))
  const [from, to] = [start + 30 * hour + 12_345, start + 33 * hour + 678]
  const inside = Math.floor(start / hour) * hour + 50 * hour
  return [
    { from: 0, to: now + day, buckets: [0] },
    { from: months[0] as number, to: months[6] as number, buckets: months.slice(0, 6) },
    { from: start + 5 * day + 1, to: start + 60 * day - 1, buckets: every(start + 5 * day + 1, start + 60 * day, day) },
    { from, to, buckets: every(from, to, hour) },
    { from: inside + 60_000, to: inside + 120_000, buckets: [inside] },
    { from: inside - 1, to: inside + 1, buckets: [inside - hour, inside] },
    { from: now - 2 * hour - 77, to: now, buckets: every(now - 2 * hour - 77, now, hour) },
  ]
}

const shapes: readonly Partial<UsageQuery>[] = [
  {},
  { groupBy: ['billing_dimension'] },
  { groupBy: ['workspace', 'resource_type'] },
  { groupBy: ['resource_name'] },
  { groupBy: ['resource_uuid', 'billing_dimension'] },
  { workspace: 'other' },
  { workspace: 'theirs' },
  { account: 'rival', groupBy: ['workspace'] },
  { resourceName: 'box-3', groupBy: ['workspace'] },
  { resourceUuid: 'main-box-4' },
  { resourceType: 'volume' },
  { resourceType: 'agent' },
  { billingDimension: 'sandbox_compute_runtime_gbs', groupBy: ['resource_name'] },
]

const compare = async (t: Test, store: Store, now: number, when: string) => {
  const intervals = await everyInterval(store)
  t.ok(intervals.length > 60, 'there is something to add up')
  for (const window of windows(now))
    for (const shape of shapes) {
      const asked: UsageQuery = { account: 'acme', groupBy: [], ...window, ...shape }
      const wanted = expected(intervals, asked, now)
      const found = asCells(await store.meter.usage(asked, now))
      const same = found.length === wanted.size && found.every(([key, parts]) => wanted.get(key) === parts)
      if (!same) t.same(new Map(found), wanted, `${when}: ${JSON.stringify(asked)}`)
    }
  t.pass(`${when}: every report is the exact sum of its intervals`)
}

export const usageSuite = async (t: Test, open: Open): Promise<void> => {
  await t.test('any report over any window is exactly what the intervals add up to', async t => {
    const store = await open(t)
    await addTenants(store)
    const now = await live(store, 7)
    await compare(t, store, now, 'as it came')
    await store.meter.checkpoint(now)
    await compare(t, store, now, 'rolled up')
    await store.meter.rebuild(now)
    await compare(t, store, now, 'rebuilt')
  })

  await t.test('resource types are those with usage in the window', async t => {
    const store = await open(t)
    await addTenants(store)
    const kinds = [
      ['sandbox_compute_runtime_gbs', 'main', 0],
      ['volume_storage_gbs', 'main', 10 * day],
      ['job_compute_runtime_gbs', 'theirs', 0],
    ] as const
    for (const [dimension, workspace, later] of kinds) {
      const made = record({ name: 'x', uid: dimension, kind: dimension, workspace, createdAt: start + later })
      await putInstance(store, instanceOf(made), [{ dimension, quantity: 1 }])
      await turn(store, [dimension, 1], { metered: { rates: [] } }, start + later + hour)
    }
    const now = start + 20 * day
    t.same(await store.meter.resourceTypes({ account: 'acme' }, start, now, now), ['sandbox', 'volume'])
    t.same(await store.meter.resourceTypes({ account: 'acme' }, start + day, now, now), ['volume'])
    t.same(await store.meter.resourceTypes({ account: 'rival' }, start, now, now), ['job'])
    t.same(await store.meter.resourceTypes({ account: 'acme' }, start + hour, start + 2 * hour, now), [])
  })
}

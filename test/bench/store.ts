/**
 * The store at the size of a busy year: lists over 100 000 resources, bills over 500 000 intervals.
 */
import { join } from 'node:path'
import BetterSqlite, { type Database } from 'better-sqlite3'
import { openStore } from '../../control/core/store/sqlite/open.ts'
import type { Listing, Store, UsageQuery, Write, WritableStore } from '../../control/core/store/store.ts'
import { silentLog } from '../../shared/log.ts'
import { instanceOf, record } from '../support/records.ts'
import { scratch } from './child.ts'
import { times, type Bench } from './measure.ts'
import { percentile, row, type Row } from './report.ts'

const hour = 3_600_000
const day = 24 * hour
const year = Date.UTC(2025, 0, 1)
const workspaces = 10
const resources = 100_000
const intervals = 500_000

/** Records of several kilobytes in one workspace, nine in ten of them terminated, as after a busy year. */
const fillResources = (db: Database): void => {
  db.exec(`
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${resources - 1})
    INSERT INTO resources (uid, kind, workspace, parent, name, version, status, external_id, search, created_at,
                           updated_at, body)
    SELECT printf('uid-%06d', (i * 7919) % ${resources}), 'sandbox', 'w0', '', 'box-' || i, 1,
           CASE WHEN i % 10 THEN 'TERMINATED' WHEN i % 1000 THEN 'DEPLOYED' ELSE 'FAILED' END, 'ext-' || i,
           'box-' || i || char(10) || 'team' || char(10) || 'blue-' || (i % 97), ${year} + i * 1000, ${year} + i * 1000,
           json_object('metadata', json_object('createdBy', 'a', 'updatedBy', 'a'),
                       'spec', json_object('fill', hex(zeroblob(1000))), 'internal', json_object())
    FROM n`)
}

/** Sandboxes that live for a day and run and sleep by turns of a quarter of an hour, spread over the year. */
const fillIntervals = (db: Database, count: number): void => {
  const subjects = Math.ceil(count / 100)
  const from = `${year} + (s.id % 363) * ${day} + (s.id % 977) * 60000 + k.i * 15 * 60000`
  db.exec(`
    INSERT INTO dimensions (name) VALUES ('sandbox_compute_runtime_gbs'), ('sandbox_snapshot_storage_gbs');
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${subjects - 1})
    INSERT INTO subjects (uid, workspace, resource_type, name)
    SELECT 'uid-' || i, 'w' || (i % ${workspaces}), 'sandbox', 'box-' || i FROM n;
    WITH RECURSIVE k (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM k WHERE i < 99)
    INSERT INTO intervals (subject, dimension, quantity, from_at, to_at, accounted_to, rolled_to)
    SELECT s.id, 1 + k.i % 2, 4608000, ${from}, ${from} + 15 * 60000, ${from}, ${from} FROM subjects s, k`)
}

const listings: readonly [string, Partial<Listing>][] = [
  ['first-page', {}],
  ['live-only', { exceptStatuses: ['TERMINATED'] }],
  ['rare-status', { statuses: ['FAILED'] }],
  ['deep-page', { after: { value: year + 50_000_000, uid: '' } }],
  ['by-name', { sort: 'name:asc', after: { value: 'box-5', uid: '' }, exceptStatuses: ['TERMINATED'] }],
  ['search-common', { q: 'blue-1' }],
  ['search-none', { q: 'purple' }],
]

const lists = async (store: Store, db: Database): Promise<Row[]> => {
  const rows: Row[] = []
  const floor = db.prepare('SELECT * FROM resources WHERE rowid BETWEEN ? AND ? + 50')
  const floors = await times(200, async index => floor.all(index * 400, index * 400))
  for (const [name, listing] of listings) {
    const samples = await times(name.startsWith('search') ? 60 : 200, () =>
      store.resources.list({ kind: 'sandbox', workspace: 'w0', sort: 'createdAt:desc', limit: 50, ...listing }),
    )
    rows.push(row(`store.list.${name}.p99`, percentile(samples, 0.99), 'ms', percentile(floors, 0.99)))
  }
  const external = await times(500, index =>
    store.resources.getByExternalId('sandbox', 'w0', `ext-${index * 190}`, ['TERMINATED']),
  )
  rows.push(row('store.external-id.p99', percentile(external, 0.99), 'ms'))
  return rows
}

const months = Array.from({ length: 12 }, (_, month) => Date.UTC(2025, month, 1))
const every = (count: number, size: number) => Array.from({ length: count }, (_, index) => year + index * size)

const reports: readonly [string, Partial<UsageQuery>][] = [
  ['year-monthly', {}],
  ['year-monthly-by-dimension-and-workspace', { groupBy: ['workspace', 'billing_dimension'] }],
  ['year-monthly-one-name', { resourceName: 'box-7' }],
  ['year-monthly-one-uuid', { resourceUuid: 'uid-7' }],
  ['90-days-daily', { groupBy: ['billing_dimension'], to: year + 90 * day, buckets: every(90, day) }],
  ['week-hourly', { groupBy: ['billing_dimension'], to: year + 7 * day, buckets: every(168, hour) }],
  ['week-hourly-odd-ends', { from: year + 1_000_001, to: year + 7 * day - 1_000_001, buckets: every(168, hour) }],
  ['month-daily-by-name', { groupBy: ['resource_name'], to: year + 30 * day, buckets: every(30, day) }],
]

const bills = async (store: Store): Promise<Row[]> => {
  const now = year + 365 * day
  const rows: Row[] = []
  for (const [name, asked] of reports) {
    const query: UsageQuery = { account: 'acme', from: year, to: now, buckets: months, groupBy: [], ...asked }
    const samples = await times(10, async () => {
      if ((await store.meter.usage(query, now)).length === 0) throw new Error(`${name}: nothing to add up`)
    })
    rows.push(row(`store.metrics.${name}.p50`, percentile(samples, 0.5), 'ms'))
  }
  return rows
}

const writes = async (store: WritableStore): Promise<Row[]> => {
  const metered = { rates: [{ dimension: 'sandbox_compute_runtime_gbs', quantity: 4 }] }
  const event = { time: year, type: 'state', status: 'DEPLOYED', message: 'ready' }
  const create = await times(500, index => {
    const resource = record({ name: `new-${index}`, workspace: 'w1', createdAt: year })
    const writes: Write[] = [
      { type: 'create', resource, event },
      { type: 'addInstance', instance: instanceOf(resource), metered },
    ]
    return store.apply(writes, year)
  })
  const update = await times(500, index => {
    const uid = `uid-new-${index}`
    const writes: Write[] = [
      { type: 'update', uid, version: 1, change: { status: 'STANDBY' }, event },
      { type: 'updateInstance', id: uid, version: 1, change: { status: 'standby' }, metered },
    ]
    return store.apply(writes, year + 1)
  })
  return [
    row('store.create.p50', percentile(create, 0.5), 'ms'),
    row('store.update.p50', percentile(update, 0.5), 'ms'),
  ]
}

/** Fills a store, measures, removes it. */
export const storeBench = async (bench: Bench): Promise<Row[]> => {
  const path = join(scratch(bench, 'store'), 'hutch.db')
  const store = await openStore({ path }, { log: silentLog })
  bench.later('store', store.close)
  const db = new BetterSqlite(path)
  bench.later('database', () => db.close())
  await store.tenants.addAccount({ id: 'acme', displayName: '', createdAt: year })
  for (let index = 0; index < workspaces; index++)
    await store.tenants.addWorkspace({
      id: `id-${index}`,
      name: `w${index}`,
      account: 'acme',
      displayName: '',
      createdAt: year,
    })
  bench.say(`${resources} resources, ${intervals} intervals`)
  db.transaction(() => {
    fillResources(db)
    fillIntervals(db, intervals)
  })()
  const [rolled = 0] = await times(1, () => store.meter.checkpoint(year + 365 * day))
  bench.say('lists')
  const rows = await lists(store, db)
  bench.say('bills')
  return [
    ...rows,
    row('store.metrics.intervals', intervals, 'rows'),
    row('store.metrics.roll-up', (intervals / rolled) * 1000, 'intervals/s'),
    ...(await bills(store)),
    ...(await writes(store)),
  ]
}

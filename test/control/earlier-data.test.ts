/**
 * A data directory that an earlier version has written, with sandboxes in every state, and the box that it has left: it
 * opens without loss. `fixtures/data-version-2` is what the last build of schema 2 had (its database as SQL, its keys,
 * the machines of its fake driver) and what its API answered at that moment.
 */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import BetterSqlite from 'better-sqlite3'
import t, { type Test } from 'tap'
import type { MachineSpec } from '../../control/drivers/driver.ts'
import { fakeDriver, fakeWorld, type FakeWorld } from '../../control/drivers/fake/index.ts'
import { createHost } from '../../control/host/host.ts'
import { loadConfig } from '../../control/base/config.ts'
import { call } from '../support/call.ts'
import { randomIds } from '../../shared/ids.ts'
import { silentLog } from '../../shared/log.ts'
import { fakeClock } from '../support/clock.ts'
import { until } from '../support/until.ts'

interface Usage {
  readonly summary: unknown
  readonly data: readonly { readonly resourceUuid: string; readonly resourceName: string; readonly workspace: string }[]
}

interface Box {
  readonly now: number
  /** What `GET /v0/sandboxes/{name}` answered, by `workspace/name`. */
  readonly answers: Readonly<Record<string, { readonly status: string; readonly state?: string }>>
  readonly usage: Usage
  readonly machines: readonly (MachineSpec & { readonly phase: 'running' | 'frozen' | 'half-made' })[]
}

const fixture = fileURLToPath(new URL('fixtures/data-version-2/', import.meta.url))
const box = JSON.parse(readFileSync(join(fixture, 'box.json'), 'utf8')) as Box
const digest = '0'.repeat(64)

const worldOf = (): FakeWorld => {
  const world = fakeWorld()
  for (const { phase, ...spec } of box.machines)
    world.machines.set(spec.id, { phase, spec, limits: { memoryMb: spec.memoryMb, cpus: spec.cpus } })
  return world
}

/** A host on a copy of the data; its machines neither come nor go before `go` is called. */
const reopened = async (t: Test) => {
  const dataDir = t.testdir({ images: { names: {}, trees: { [digest]: { rootfs: {} } } } })
  const db = new BetterSqlite(join(dataDir, 'hutch.db'))
  db.exec(readFileSync(join(fixture, 'hutch.sql'), 'utf8'))
  db.close()
  for (const key of ['admin-key', 'secret-key', 'cursor-key']) copyFileSync(join(fixture, key), join(dataDir, key))
  const imagesDir = join(dataDir, 'images-of-the-box')
  mkdirSync(join(imagesDir, 'names'), { recursive: true })
  mkdirSync(join(imagesDir, 'trees', digest, 'rootfs'), { recursive: true })
  writeFileSync(join(imagesDir, 'names', 'busybox.json'), JSON.stringify({ digest }))
  const image = { env: {}, workdir: '/', user: '', command: [] }
  writeFileSync(join(imagesDir, 'trees', digest, 'image.json'), JSON.stringify(image))
  const clock = fakeClock(box.now)
  const world = worldOf()
  const door = Promise.withResolvers<void>()
  const still = (point: string) => (/^(create|remove)\.before$/.test(point) ? door.promise : undefined)
  const host = await createHost(
    { ...loadConfig({}, process.cwd()), dataDir, imagesDir, port: 0, driver: 'fake' },
    { clock, ids: randomIds(), log: silentLog, drivers: [fakeDriver({ world, faults: still })] },
  )
  t.teardown(host.close)
  // Nothing that waits at the door keeps it from closing.
  t.teardown(() => door.resolve())
  const { api: served } = await host.server()
  const api = async (target: string, key = host.first.adminKey) =>
    call(served, 'GET', `/v0${target}`, { headers: { authorization: `Bearer ${key}`, 'svc-version': '2026-04-28' } })
  const sandbox = async (which: string) => {
    const [workspace, name] = which.split('/')
    return (await api(`/sandboxes/${name}?workspace=${workspace}`)).body
  }
  return { host, clock, world, api, sandbox, go: door.resolve }
}

const uidOf = (which: string) => {
  const [workspace, name] = which.split('/')
  const entry = box.usage.data.find(one => one.workspace === workspace && one.resourceName === name)
  if (!entry) throw new Error(`nothing was metered of ${which}`)
  return entry.resourceUuid
}

t.test(
  'the API answers what it answered: records, states, uses, errors, events, secrets, keys and the bill',
  async t => {
    const { api, sandbox, host } = await reopened(t)
    t.equal(Object.keys(box.answers).length, 11)
    for (const [which, before] of Object.entries(box.answers)) t.same(await sandbox(which), before, which)
    t.equal(host.first.adminKey, readFileSync(join(fixture, 'admin-key'), 'utf8').trim())
    t.match(await host.store.tenants.personalKeys('default'), [{ id: 'admin', defaultWorkspace: 'default' }])
    t.match((await api('/sandboxes', 'team-key')).body.data, [{ metadata: { name: 'asleep', workspace: 'team' } }])
    const shown = await api('/sandboxes/web?workspace=default&show_secrets=true')
    t.match(shown.body.spec.runtime.envs, [{ name: 'A' }, { name: 'TOKEN', value: 'hush' }])
    t.match((await api('/sandboxes/by-external-id/order-7?workspace=default')).body, { metadata: { name: 'web' } })
    const window = 'startTime=2026-01-01T00:00:00Z&endTime=2026-01-02T00:00:00Z'
    const { body } = await api(`/accounts/default/metrics?${window}&groupBy=resource_uuid,billing_dimension`)
    t.match(body, { summary: box.usage.summary, data: box.usage.data })
  },
)

t.test('machines of before run on under the ids they have, and what was under way is finished', async t => {
  const { clock, world, sandbox, host, go } = await reopened(t)
  const { store } = host
  t.equal((await store.instances.get(uidOf('default/web')))?.driver, 'fake')
  go()
  const expected = {
    'default/web': { status: 'DEPLOYED', state: 'RUNNING' },
    'default/asleep': { status: 'DEPLOYED', state: 'STANDBY' },
    'team/asleep': { status: 'DEPLOYED', state: 'STANDBY' },
    'default/again': { status: 'DEPLOYED', state: 'RUNNING' },
    'default/lost': { status: 'DEPLOYED', errors: [{ code: 'MACHINE_LOST' }] },
    'default/starting': { status: 'DEPLOYED', errors: [{ message: 'a hiccup' }] },
    'default/off': { status: 'DEACTIVATED' },
    'default/disabling': { status: 'DEACTIVATED' },
    'default/failed': { status: 'FAILED' },
    'default/ending': { status: 'TERMINATED' },
    'default/over': { status: 'TERMINATED' },
  }
  const isSettled = async ([which, now]: [string, { status: string }]) => (await sandbox(which)).status === now.status
  await until(async () => {
    await clock.tick(10)
    return (await Promise.all(Object.entries(expected).map(isSettled))).every(Boolean)
  }, 'everything to be as it should')
  for (const [which, now] of Object.entries(expected)) t.match(await sandbox(which), now, which)
  t.same(
    [...world.machines.values()].map(({ spec }) => spec.hostname).toSorted(),
    ['again', 'asleep', 'asleep', 'lost', 'starting', 'web'],
    'and nothing else is on the box',
  )
  for (const kept of ['default/web', 'default/asleep', 'team/asleep'])
    t.notOk(world.journal.includes(`create ${uidOf(kept)}`), `${kept} was not made again`)
  t.ok(world.journal.includes(`create ${uidOf('default/lost')}`), 'one that had ended is started with its files')
  t.match(
    world.machines.get(uidOf('default/lost'))?.spec,
    { rootfs: /^\/srv\/hutch\/images/ },
    'and its image of before',
  )
  t.notOk(world.machines.has(uidOf('default/again')), 'one that was to be replaced is')
  t.equal([...world.machines.values()].find(({ spec }) => spec.hostname === 'again')?.spec.memoryMb, 2048)
})

t.test('the bill of a machine goes on where it was', async t => {
  const { clock, host, go } = await reopened(t)
  const { meter } = host.store
  const uid = uidOf('default/web')
  const before = await meter.intervals(uid)
  t.match(before.at(-1), { dimension: 'sandbox_compute_runtime_gbs', quantity: 1, to: null })
  go()
  for (let turn = 0; turn < 20; turn++) await clock.tick(100)
  t.same(await meter.intervals(uid), before, 'opening it is no change')
  const asleep = uidOf('team/asleep')
  const { release } = await host.runner.hold(
    { uid: asleep, kind: 'sandbox', name: 'asleep' },
    AbortSignal.timeout(5_000),
  )
  release()
  t.match((await meter.intervals(asleep)).slice(-2), [
    { dimension: 'sandbox_snapshot_storage_gbs', to: clock.now() },
    { dimension: 'sandbox_compute_runtime_gbs', quantity: 1, from: clock.now(), to: null },
  ])
})

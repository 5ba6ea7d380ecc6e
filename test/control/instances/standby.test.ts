import t, { type Test } from 'tap'
import { fakeDriver, fakeWorld, type Faults } from '../../../control/drivers/fake/index.ts'
import { changes } from '../../../control/reconcile/changes.ts'
import { internalOf, records, runningRates } from '../../../control/instances/record.ts'
import { standby } from '../../../control/instances/standby.ts'
import { openStore } from '../../../control/store/sqlite/open.ts'
import type { Resource } from '../../../control/store/store.ts'
import { silentLog } from '../../../shared/log.ts'
import { fakeClock } from '../../support/clock.ts'

const afterMs = 15_000

/** One deployed sandbox `u` of 2 GB, awake, and what looks after its sleep. */
const prepared = async (t: Test, options: { keepAlive?: () => Promise<number>; faults?: Faults } = {}) => {
  const clock = fakeClock()
  const world = fakeWorld()
  const driver = fakeDriver({ world, ...(options.faults ? { faults: options.faults } : {}) })
  const store = await openStore({ path: `${t.testdir()}/db` }, { log: silentLog })
  t.teardown(() => store.close())
  const spec = { id: 'u', rootfs: '/', memoryMb: 2048, cpus: 1, hostname: 'u', env: {}, workdir: '/' }
  const machine = await driver.create(spec)
  const row: Resource = {
    uid: 'u',
    kind: 'sandbox',
    workspace: 'default',
    parent: '',
    name: 'u',
    version: 1,
    status: 'DEPLOYED',
    metadata: { createdBy: 'me', updatedBy: 'me' },
    spec: { runtime: { memory: 2048 } },
    internal: { state: 'RUNNING' },
    createdAt: clock.now(),
    updatedAt: clock.now(),
  }
  await store.resources.create(row, { rates: runningRates(2048) })
  const deps = {
    store,
    driver,
    clock,
    log: silentLog,
    records: records({ store, clock, changes: changes() }),
    keepAlive: options.keepAlive ?? (async () => 0),
  }
  const sleep = standby({ afterMs }, deps)
  t.teardown(() => sleep.close())
  const state = async () => internalOf((await store.resources.getByUid('u')) as Resource).state
  const phase = () => world.machines.get('u')?.phase
  return { clock, world, driver, store, sleep, state, phase, row, machine, deps }
}

t.test('idle long enough, it sleeps; the next hold wakes it; both are recorded and metered', async t => {
  const { clock, store, sleep, state, phase, row, machine } = await prepared(t)
  await sleep.up(row, machine)
  await clock.tick(afterMs - 1)
  t.equal(phase(), 'running')
  await clock.tick(1)
  t.equal(phase(), 'frozen')
  t.equal(await state(), 'STANDBY')
  await clock.tick(60_000)
  const release = await sleep.hold('u')
  t.equal(phase(), 'running')
  t.equal(await state(), 'RUNNING')
  release()
  const intervals = await store.meter.intervals('u')
  t.match(
    intervals.map(({ dimension, quantity, from, to }) => [dimension, quantity, to === null ? null : to - from]),
    [
      ['sandbox_compute_runtime_gbs', 2, afterMs],
      ['sandbox_snapshot_storage_gbs', 16 / 1024, 60_000],
      ['sandbox_compute_runtime_gbs', 2, null],
    ],
  )
})

t.test('while it is held it never sleeps, and the time counts from the last release', async t => {
  const { clock, sleep, phase, row, machine } = await prepared(t)
  await sleep.up(row, machine)
  const one = await sleep.hold('u')
  const two = await sleep.hold('u')
  await clock.tick(afterMs * 10)
  t.equal(phase(), 'running')
  one()
  one()
  await clock.tick(afterMs * 10)
  t.equal(phase(), 'running', 'released twice is released once')
  two()
  await clock.tick(afterMs - 1)
  t.equal(phase(), 'running')
  await clock.tick(1)
  t.equal(phase(), 'frozen')
})

t.test('keep-alive processes keep it awake; when they end it sleeps', async t => {
  let running = 1
  const { clock, sleep, phase, row, machine } = await prepared(t, { keepAlive: async () => running })
  await sleep.up(row, machine)
  await clock.tick(afterMs * 5)
  t.equal(phase(), 'running')
  running = 0
  await clock.tick(afterMs)
  t.equal(phase(), 'frozen')
})

t.test('a daemon that does not answer is taken to be at work', async t => {
  let silent = true
  const { clock, sleep, phase, row, machine } = await prepared(t, {
    keepAlive: async () => {
      if (silent) throw new Error('no answer')
      return 0
    },
  })
  await sleep.up(row, machine)
  await clock.tick(afterMs * 3)
  t.equal(phase(), 'running')
  silent = false
  await clock.tick(afterMs)
  t.equal(phase(), 'frozen')
})

t.test('a hold that comes while it falls asleep waits, and finds it awake', async t => {
  const door = Promise.withResolvers<void>()
  const { clock, world, sleep, phase, state, row, machine } = await prepared(t, {
    faults: point => (point === 'freeze' ? door.promise : undefined),
  })
  await sleep.up(row, machine)
  await clock.tick(afterMs)
  const held = sleep.hold('u')
  door.resolve()
  await held
  t.equal(phase(), 'running')
  t.equal(await state(), 'RUNNING')
  t.same(world.journal, ['create u', 'freeze u', 'thaw u'])
})

t.test('many holds at once thaw it once', async t => {
  const { clock, world, sleep, row, machine } = await prepared(t)
  await sleep.up(row, machine)
  await clock.tick(afterMs)
  await Promise.all(Array.from({ length: 20 }, () => sleep.hold('u')))
  t.equal(world.journal.filter(line => line === 'thaw u').length, 1)
})

t.test(
  'a freeze that fails is tried again; a thaw that fails is told to who asked, and the next may succeed',
  async t => {
    let broken: string | undefined = 'freeze'
    const { clock, sleep, phase, row, machine } = await prepared(t, {
      faults: point => {
        if (point === broken) throw new Error(`${point} does not work`)
      },
    })
    await sleep.up(row, machine)
    await clock.tick(afterMs)
    t.equal(phase(), 'running')
    broken = undefined
    await clock.tick(afterMs)
    t.equal(phase(), 'frozen')
    broken = 'thaw'
    await t.rejects(sleep.hold('u'), { message: 'thaw does not work' })
    broken = undefined
    const release = await sleep.hold('u')
    t.equal(phase(), 'running')
    release()
  },
)

t.test('after a crash between freezing and recording, the box is believed', async t => {
  const { driver, state, row, machine, sleep, store, clock } = await prepared(t)
  await driver.freezer?.freeze('u')
  await sleep.up(row, { ...machine, phase: 'frozen' })
  t.equal(await state(), 'STANDBY')
  t.match((await store.meter.intervals('u')).at(-1), { dimension: 'sandbox_snapshot_storage_gbs', to: null })
  await clock.tick(0)
  const release = await sleep.hold('u')
  t.equal(await state(), 'RUNNING')
  release()
})

t.test('and between thawing and recording', async t => {
  const { state, row, machine, sleep, store } = await prepared(t)
  await store.resources.update('u', 1, { internal: { state: 'STANDBY' } }, 0)
  await sleep.up({ ...row, internal: { state: 'STANDBY' } }, machine)
  t.equal(await state(), 'RUNNING')
})

t.test('one that is gone is left alone', async t => {
  const { clock, world, sleep, row, machine } = await prepared(t)
  await sleep.up(row, machine)
  sleep.down('u')
  await clock.tick(afterMs * 2)
  t.same(world.journal, ['create u'])
})

import t from 'tap'
import { fakeDriver, fakeWorld, type Faults } from '../../../../control/drivers/fake/index.ts'
import { runner, type TestRunner } from '../../../support/runner.ts'
import { until } from '../../../support/until.ts'

/** Lets time go by until it is so. */
const becomes = ({ clock }: TestRunner, what: string, look: () => Promise<boolean>) =>
  until(async () => {
    await clock.tick(100)
    return look()
  }, what)

const running = (made: TestRunner, uid: string) =>
  becomes(made, 'a machine', async () => (await made.statuses(uid))[0] === 'running')

const compute = 'sandbox_compute_runtime_gbs'

t.test('a machine that is gone after a crash is not billed for the time nobody saw it run', async t => {
  const made = await runner(t, {
    driver: fakeDriver({ faults: point => (point === 'create.before' ? new Promise(() => {}) : undefined) }),
  })
  const { clock, store } = made
  const start = clock.now()
  const { owner, instance } = await made.add({ memoryMb: 2048 }, [{ dimension: compute, quantity: 2 }])
  await clock.tick(60_000)
  await store.meter.checkpoint(clock.now())
  await clock.tick(3_600_000)
  await made.runner.start()
  await clock.tick(0)
  t.match(await store.resources.getByUid(owner.uid), { status: 'DEPLOYING' })
  t.match(await store.instances.get(instance.id), { status: 'starting', errors: [{ code: 'MACHINE_LOST' }] })
  t.match(await store.meter.intervals(instance.id), [{ from: start, to: start + 60_000, quantity: 2 }])
})

t.test('one that a host finds is billed until then, however many hosts were killed before', async t => {
  const made = await runner(t)
  const { clock, store, world, drivers } = made
  const start = clock.now()
  const { instance } = await made.add({ memoryMb: 2048, lastUsedAt: start + 50_000 }, [
    { dimension: compute, quantity: 2 },
  ])
  const { id } = instance
  await drivers.preferred.create({ id, rootfs: '/', memoryMb: 2048, cpus: 1, hostname: 'a', env: {}, workdir: '/' })
  await clock.tick(50_000)
  await made.runner.start()
  await clock.tick(3_000)
  world.machines.delete(id)
  await becomes(made, 'its loss to be seen', async () =>
    (await store.meter.intervals(id)).some(({ to }) => to !== null),
  )
  t.match((await store.meter.intervals(id))[0], { from: start, to: start + 50_000 })
})

t.test(
  'one that is restarted ends before it starts anew, also when the host died in between, and costs nothing meanwhile',
  async t => {
    const doors = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const world = fakeWorld()
    let at = 0
    const faults: Faults = point => (point === 'end' ? doors[at]?.promise : undefined)
    const made = await runner(t, { world, faults })
    const { clock, store, transition } = made
    await made.runner.start()
    const { uid } = await made.create('crew', 'a', {})
    await running(made, uid)
    const [first] = await store.instances.ofOwner(uid)
    const instance = first as NonNullable<typeof first>
    const restart = async () => {
      const [now] = await store.instances.ofOwner(uid)
      const record = await store.resources.getByUid(uid)
      if (!now || !record) throw new Error('it is gone')
      await transition.write([
        { record, event: { name: 'restart', message: 'restarted' } },
        { instance: now, event: 'restart' },
      ])
      made.runner.poke('crew', uid)
    }
    await restart()
    await clock.tick(0)
    t.match(await store.resources.getByUid(uid), { status: 'DEPLOYING' })
    t.same(await made.statuses(uid), ['restarting'])
    const billed = await store.meter.intervals(instance.id)
    t.match(billed, [{ to: clock.now() }])
    const held = made.runner.hold({ uid, kind: 'crew', name: 'a' }, new AbortController().signal)
    doors[at]?.resolve()
    await running(made, uid)
    t.equal((await held).instance.id, instance.id, 'who calls meanwhile waits for it')
    ;(await held).release()
    t.same(world.journal, [`create ${instance.id}`, `end ${instance.id}`, `create ${instance.id}`])
    at = 1
    await restart()
    await clock.tick(0)
    t.same(await made.statuses(uid), ['restarting'])
    await made.move(uid, 'delete')
    doors[at]?.resolve()
    await becomes(made, 'its end', async () => (await made.statuses(uid)).length === 0)
    t.equal(world.machines.size, 0, 'one that is deleted meanwhile goes')
  },
)

t.test('a machine whose image was removed says so once, until it is started anew', async t => {
  const made = await runner(t)
  const { clock, store, world } = made
  await made.runner.start()
  const { uid } = await made.create('crew', 'a', {})
  await running(made, uid)
  const errors = async () => (await store.instances.ofOwner(uid))[0]?.errors ?? []
  const [machine] = world.machines.values()
  if (!machine) throw new Error('it has no machine')
  machine.rootGone = true
  await becomes(made, 'an error', async () => (await errors()).length > 0)
  t.match(await errors(), [{ code: 'ROOT_GONE', fatal: false, message: /make the image again, then restart/ }])
  await clock.tick(30_000)
  t.equal((await errors()).length, 1)
  t.same(await made.statuses(uid), ['standby'], 'nothing is done to it')
})

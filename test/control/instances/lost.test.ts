import t from 'tap'
import { fakeDriver } from '../../../control/drivers/fake/index.ts'
import { runner } from '../../support/runner.ts'

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

import { join } from 'node:path'
import t from 'tap'
import { fakeDriver } from '../../../control/drivers/fake/index.ts'
import { changes } from '../../../control/reconcile/changes.ts'
import { records, runningRates } from '../../../control/instances/record.ts'
import { sandboxReconciler } from '../../../control/instances/reconciler.ts'
import { openStore } from '../../../control/store/sqlite/open.ts'
import { silentLog } from '../../../shared/log.ts'
import { fakeClock } from '../../support/clock.ts'
import { record } from '../../support/records.ts'

t.test('a sandbox whose machine is gone after a crash is not billed for the time nobody saw it run', async t => {
  const clock = fakeClock()
  const log = silentLog
  const store = await openStore({ path: join(t.testdir(), 'hutch.db') }, { log })
  t.teardown(() => store.close())
  const start = clock.now()
  const row = record({ name: 'box', createdAt: start })
  await store.resources.create(row, { rates: runningRates(2048) })
  await clock.tick(60_000)
  await store.meter.checkpoint(clock.now())
  await clock.tick(3_600_000)

  const reconcile = sandboxReconciler({
    store,
    driver: fakeDriver(),
    clock,
    log,
    records: records({ store, clock, changes: changes() }),
    plan: () => Promise.reject(new Error('nothing is made in this test')),
    found: () => undefined,
    onUp: async () => {},
    onDown: () => {},
  })
  await reconcile(row.uid, new AbortController().signal)
  t.match(await store.resources.getByUid(row.uid), { status: 'DEPLOYING' })
  t.match(await store.meter.intervals(row.uid), [{ from: start, to: start + 60_000, quantity: 2 }])
})

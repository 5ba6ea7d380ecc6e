import t from 'tap'
import { fakeDriver, fakeWorld } from '../../../../control/drivers/fake/index.ts'
import { driversOf } from '../../../../control/drivers/drivers.ts'
import { census } from '../../../../control/core/machines/census.ts'
import { openStore } from '../../../../control/core/store/sqlite/open.ts'
import { silentLog } from '../../../../shared/log.ts'

t.test('an orphan that cannot be removed holds nobody up and is tried again', async t => {
  const store = await openStore({ path: `${t.testdir()}/db` }, { log: silentLog })
  t.teardown(() => store.close())
  const world = fakeWorld()
  let stuck = true
  const driver = fakeDriver({
    world,
    faults: (point, id) => {
      if (stuck && point === 'remove.before' && id === 'a') throw new Error('still mounted')
    },
  })
  const spec = { rootfs: '/', memoryMb: 64, cpus: 1, hostname: 'x', env: {}, workdir: '/' }
  for (const id of ['a', 'b']) await driver.create({ ...spec, id })
  const known = census({ drivers: driversOf(driver), store, log: silentLog })
  t.same(await known.survey(), { changed: [], failures: [] })
  t.same([...world.machines.keys()], ['a'], 'the other one is gone')
  stuck = false
  await known.survey()
  t.same([...world.machines.keys()], [])
})

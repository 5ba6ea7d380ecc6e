import t from 'tap'
import { openDriver } from '../../../control/drivers/index.ts'
import { systemClock } from '../../../shared/clock.ts'
import { silentLog } from '../../../shared/log.ts'

const deps = { log: silentLog, clock: systemClock() }
const config = (driver: string, bundleDir = '/nowhere') => ({
  dataDir: t.testdir(),
  driver,
  runtime: 'runc',
  subnet: '10.89.0.0/16',
  bundleDir,
})

t.test('a driver is opened by its name', async t => {
  const driver = await openDriver(config('fake'), deps)
  t.equal(driver.name, 'fake')
  await driver.close()
})

t.test('one that does not exist is refused with those that do', async t => {
  await t.rejects(openDriver(config('magic'), deps), {
    code: 'invalid_argument',
    details: { field: 'HUTCH_DRIVER', reason: /auto, oci, fake/ },
  })
})

t.test('auto says what is missing and never takes the driver that runs nothing', async t => {
  await t.rejects(openDriver(config('auto'), deps), { code: 'driver_failed', message: /root|bundle/ })
})

t.test('a subnet that cannot be used is named before anything is changed', async t => {
  const wrong = { ...config('oci'), subnet: 'nonsense' }
  if (process.getuid?.() === 0)
    await t.rejects(openDriver(wrong, deps), { code: 'invalid_argument', details: { field: 'HUTCH_SUBNET' } })
  else await t.rejects(openDriver(wrong, deps), { code: 'driver_failed' })
})

import t from 'tap'
import { openDrivers } from '../../../control/drivers/index.ts'
import { systemClock } from '../../../shared/clock.ts'
import { silentLog } from '../../../shared/log.ts'

const deps = { log: silentLog, clock: systemClock() }
const open = (wanted: ReturnType<typeof config>) => openDrivers(wanted, new Set(), deps)
const config = (driver: string, bundleDir = '/nowhere') => ({
  dataDir: t.testdir(),
  driver,
  runtime: 'runc',
  subnet: '10.89.0.0/16',
  bundleDir,
})

t.test('a driver is opened by its name', async t => {
  const drivers = await open(config('fake'))
  t.equal(drivers.preferred.name, 'fake')
  await drivers.close()
})

t.test('one that does not exist is refused with those that do', async t => {
  await t.rejects(open(config('magic')), {
    code: 'invalid_argument',
    details: { field: 'HUTCH_DRIVER', reason: /auto, oci, fake/ },
  })
})

t.test('auto says what is missing and never takes the driver that runs nothing', async t => {
  await t.rejects(open(config('auto')), { code: 'driver_failed', message: /root|bundle/ })
})

t.test('a subnet that cannot be used is named before anything is changed', async t => {
  const wrong = { ...config('oci'), subnet: 'nonsense' }
  if (process.getuid?.() === 0)
    await t.rejects(open(wrong), { code: 'invalid_argument', details: { field: 'HUTCH_SUBNET' } })
  else await t.rejects(open(wrong), { code: 'driver_failed' })
})

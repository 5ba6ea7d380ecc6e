import { chmodSync, chownSync, existsSync, mkdirSync, realpathSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Mounter } from '../../../../../control/drivers/driver.ts'
import { driversOf } from '../../../../../control/drivers/drivers.ts'
import { fakeDriver } from '../../../../../control/drivers/fake/index.ts'
import { driveAnswers } from '../../../../../control/server/proxy/drive-answers.ts'
import { openDrivesDirectory } from '../../../../../control/core/storage/drives/directory.ts'
import { createConnections } from '../../../../../control/core/channel/connections.ts'
import { openDrives } from '../../../../../control/core/storage/drives/open.ts'
import { systemClock } from '../../../../../shared/clock.ts'
import { randomIds } from '../../../../../shared/ids.ts'
import { silentLog } from '../../../../../shared/log.ts'
import { instanceOf, record } from '../../../../support/records.ts'

const keyOf = () => Buffer.alloc(32)
const deps = {
  driveKind: 'drive',
  names: { list: [{ short: 'svc' }] },
  store: { resources: {} as never },
  connections: createConnections({ keyOf }, systemClock()),
  clock: systemClock(),
  ids: randomIds(),
  log: silentLog,
}
const fake = fakeDriver()
const mounter: Mounter = { table: async () => '', mount: async () => false, unmount: async () => {} }

t.test('the directory of drives is made for root alone, and refused when others may enter', async t => {
  const dir = realpathSync(t.testdir())
  const made = join(dir, 'a/b')
  t.equal(await openDrivesDirectory(made), made)
  t.equal(statSync(made).mode & 0o777, 0o700)
  symlinkSync(made, join(dir, 'link'))
  t.equal(await openDrivesDirectory(join(dir, 'link')), made, 'its real path')
  for (const mode of [0o755, 0o710, 0o701]) {
    chmodSync(made, mode)
    await t.rejects(openDrivesDirectory(made), {
      code: 'invalid_argument',
      message: /HUTCH_DRIVES_DIR.*run chmod 700/,
    })
  }
})

t.test("somebody else's directory is refused", { skip: process.getuid?.() !== 0 && 'needs root' }, async t => {
  const dir = join(t.testdir(), 'theirs')
  mkdirSync(dir, { mode: 0o700 })
  chownSync(dir, 4711, 4711)
  await t.rejects(openDrivesDirectory(dir), { code: 'invalid_argument', message: /belongs to user 4711/ })
})

t.test('without a directory there are no drives; without a driver that mounts there is no start', async t => {
  const drivesDir = join(t.testdir(), 'drives')
  t.equal(await openDrives({ drivesDir: '' }, { ...deps, drivers: driversOf(fake) }), undefined)
  await t.rejects(openDrives({ drivesDir }, { ...deps, drivers: driversOf(fake) }), {
    code: 'driver_failed',
    message: /HUTCH_DRIVES_DIR is set/,
  })
  t.equal(existsSync(drivesDir), false)
  const instance = instanceOf(record({ name: 'a' }), { driver: 'oci' })
  const drives = await openDrives(
    { drivesDir },
    { ...deps, drivers: driversOf({ ...fake, name: 'oci', mounter }, [fake]) },
  )
  const answers = driveAnswers(drives as NonNullable<typeof drives>, deps)
  for (const [method, target, taken] of [
    ['GET', '/drives/mount', true],
    ['POST', '/drives/mount?x=1', true],
    ['POST', '/drives%2Fmount', true],
    ['DELETE', '/drives/mount/a/b', true],
    ['DELETE', '/drives/mount/', true],
    ['GET', '/drives/mount/', false],
    ['PUT', '/drives/mount', false],
    ['GET', '/drives', false],
    ['GET', '/process', false],
  ] as const) {
    t.equal(answers.takes(instance, method, target), taken, `${method} ${target}`)
    const elsewhere = { ...instance, driver: 'fake' }
    t.equal(answers.takes(elsewhere, method, target), false, 'machines of a driver that cannot mount answer themselves')
  }
})

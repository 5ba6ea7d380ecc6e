/** Drives through the library, on a real machine: what it mounts is what a drive over HTTP is. */
import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openHost } from '../../control/index.ts'
import { drivesDirectory } from '../support/drives.ts'
import { whyNoMachines } from '../support/machine.ts'
import { scratchInstance } from '../support/server.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines())

t.test('a program mounts a drive, lists it, and takes it away', async t => {
  const drivesDir = realpathSync(drivesDirectory(t))
  const { dataDir } = scratchInstance(t)
  const host = await openHost({ dataDir, drivesDir, port: 0, driver: 'oci' })
  t.teardown(host.close)
  const { sandboxes } = host
  await sandboxes.create({ name: 'a', image: 'busybox', memoryMb: 256 })
  const drives = sandboxes.drives('a')
  t.same(await drives.list(), [])

  const shown = { driveName: 'data', mountPath: '/mnt/data', drivePath: '/reports', readOnly: false }
  t.match(await drives.mount({ driveName: 'data', mountPath: 'mnt/data/', drivePath: '/reports' }), shown)
  t.match(await drives.mount({ driveName: 'data', mountPath: '/mnt/data', drivePath: '/reports' }), shown, 'again')
  await drives.mount({ driveName: 'data', mountPath: '/srv/all', readOnly: true })
  t.match(await drives.list(), [shown, { mountPath: '/srv/all', drivePath: '/', readOnly: true }])
  const run = await sandboxes.exec('a', 'echo hello > /mnt/data/note; cat /srv/all/reports/note; echo no > /srv/all/x')
  t.match(run, { stdout: 'hello\n', stderr: /Read-only/, exitCode: 1 })
  t.equal(readFileSync(join(drivesDir, 'default/data/reports/note'), 'utf8'), 'hello\n')

  await t.rejects(drives.mount({ driveName: 'none', mountPath: '/mnt/none' }), { code: 'not_found' })
  await t.rejects(drives.mount({ driveName: 'other', mountPath: '/mnt/data' }), { code: 'wrong_state' })
  await t.rejects(drives.mount({ driveName: 'data', mountPath: '/proc/x' }), { code: 'invalid_argument' })
  await t.rejects(drives.mount({ driveName: '../theirs', mountPath: '/x' }), {
    code: 'invalid_argument',
    details: { field: 'driveName' },
  })
  const misspelt = { driveName: 'data', mountPath: '/x', readonly: true } as never
  await t.rejects(drives.mount(misspelt), { message: 'readonly: is not known; did you mean readOnly?' })
  await t.rejects(sandboxes.drives('none').list(), { code: 'not_found' })

  await drives.unmount('/mnt/data')
  await t.rejects(drives.unmount('/mnt/data'), { code: 'not_found' })
  t.match(await drives.list(), [{ mountPath: '/srv/all' }])
  await sandboxes.delete('a')
})

t.test('without a directory of drives it says so', async t => {
  const { dataDir } = scratchInstance(t)
  const host = await openHost({ dataDir, port: 0, driver: 'oci' })
  t.teardown(host.close)
  await host.sandboxes.create({ name: 'a', image: 'busybox', memoryMb: 256 })
  await t.rejects(host.sandboxes.drives('a').list(), { code: 'not_available', message: /open it with drivesDir/ })
  await host.sandboxes.delete('a')
})

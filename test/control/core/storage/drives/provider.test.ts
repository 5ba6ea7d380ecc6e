import { mkdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { DirectoryMount, Mounter } from '../../../../../control/drivers/driver.ts'
import { hostDrives } from '../../../../../control/core/storage/drives/provider.ts'
import { parseMountinfo, type MountEntry } from '../../../../../shared/drives/mountinfo.ts'

/** The mount of this box that a path is in. */
const around = (path: string): MountEntry =>
  parseMountinfo(readFileSync('/proc/self/mountinfo', 'utf8'))
    .filter(({ mountPoint }) => path === mountPoint || path.startsWith(mountPoint === '/' ? '/' : `${mountPoint}/`))
    .toSorted((a, b) => a.mountPoint.length - b.mountPoint.length)
    .at(-1) as MountEntry

/** A machine whose table is what a real one's would be after binding `shown` of this box at each mount point. */
const machine = (t: Test, shown: Record<string, string>, { options = 'rw', heeds = true } = {}) => {
  const base = realpathSync(t.testdir())
  for (const drive of ['one/data/sub', 'two/data']) mkdirSync(join(base, drive), { recursive: true })
  const { device, root, mountPoint } = around(base)
  const inFileSystem = (path: string) => join(root, path.slice(mountPoint === '/' ? 0 : mountPoint.length))
  const calls: unknown[] = []
  const mounter: Mounter = {
    table: async () =>
      [
        '90 80 0:77 / / rw - overlay overlay rw',
        ...Object.entries(shown).map(
          ([at, path], index) =>
            `${100 + index} 90 ${device} ${inFileSystem(join(base, path))} ${at} ${options} - ext4 x rw`,
        ),
      ].join('\n'),
    mount: async (id: string, wanted: DirectoryMount) => {
      calls.push([id, wanted])
      return heeds && wanted.owner !== undefined
    },
    unmount: async (id, mounted) => void calls.push([id, mounted]),
  }
  const drivesOf = (workspace: string) => hostDrives({ base, workspace, machine: 'm', mounter })
  return { base, calls, drivesOf }
}

const nobody = { uidMap: '', gidMap: '' }
const mount = { drivePath: '/', readOnly: false, uidMap: '', gidMap: '' }

t.test('what is mounted is read from the kernel, and only drives of the workspace count', async t => {
  const { drivesOf } = machine(
    t,
    { '/a': 'one/data', '/b': 'one/data/sub', '/c': 'two/data', '/d': 'one' },
    { options: 'ro' },
  )
  const drives = drivesOf('one')
  const [a, b] = [
    { ...mount, driveName: 'data', mountPath: '/a', readOnly: true },
    { ...mount, driveName: 'data', mountPath: '/b', drivePath: '/sub', readOnly: true },
  ]
  t.strictSame(await drives.list(), [a, b])
  t.strictSame(await drives.at('/b'), b)
  for (const path of ['/', '/c', '/d']) t.equal(await drives.at(path), 'other', path)
  t.equal(await drives.at('/a/x'), undefined)
})

t.test('mounting names the directory of the workspace, unmounting the number of the mount', async t => {
  const { base, calls, drivesOf } = machine(t, { '/a': 'one/data', '/c': 'two/data' })
  const drives = drivesOf('one')
  await drives.mount({ ...mount, driveName: 'data', mountPath: '/x' }, nobody)
  await drives.unmount('/a')
  t.strictSame(calls, [
    ['m', { base, drive: 'one/data', drivePath: '/', mountPath: '/x', readOnly: false }],
    ['m', { mountId: 100, mountPath: '/a' }],
  ])
  for (const path of ['/c', '/', '/gone']) await t.rejects(drives.unmount(path), { code: 'operation_failed' }, path)
  t.equal(calls.length, 2)
})

t.test('no name climbs out of the directory of the workspace', async t => {
  const { calls, drivesOf } = machine(t, {})
  for (const workspace of ['', '.', '..', 'a/b', '../one', '-a', 'a\0'])
    t.throws(() => drivesOf(workspace), { code: 'not_found' }, `"${workspace}"`)
  for (const driveName of ['', '..', '../two/data', 'a/b', '.hidden'])
    await t.rejects(
      drivesOf('one').mount({ ...mount, driveName, mountPath: '/x' }, nobody),
      { code: 'not_found' },
      driveName,
    )
  t.same(calls, [])
})

t.test('a machine has a bounded number of mounts', async t => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`/m${index}`, 'one/data']))
  const wanted = { ...mount, driveName: 'data', mountPath: '/x' }
  const full = machine(t, many(256))
  await t.rejects(full.drivesOf('one').mount(wanted, nobody), {
    code: 'invalid_argument',
    message: /unmount one first/,
  })
  t.same(full.calls, [])
  const last = machine(t, many(255))
  await last.drivesOf('one').mount(wanted, nobody)
  t.equal(last.calls.length, 1)
})

t.test('the user of the workload is a wish, an id that was asked for is not', async t => {
  const user = { uidMap: '1000', gidMap: '1001' }
  const wanted = { ...mount, driveName: 'data', mountPath: '/x' }
  const { calls, drivesOf } = machine(t, {})
  t.strictSame(await drivesOf('one').mount(wanted, user), { ...wanted, ...user })
  t.strictSame(await drivesOf('one').mount({ ...wanted, uidMap: '7' }, user), {
    ...wanted,
    uidMap: '7',
    gidMap: '1001',
  })
  t.match(calls, [
    ['m', { owner: { uid: '1000', gid: '1001', required: false } }],
    ['m', { owner: { uid: '7', gid: '1001', required: true } }],
  ])
  const unable = machine(t, {}, { heeds: false }).drivesOf('one')
  t.strictSame(await unable.mount(wanted, user), wanted, 'what came of it is told')
})

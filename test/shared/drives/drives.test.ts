import t from 'tap'
import { cleanPath, createDrives } from '../../../shared/drives/drives.ts'
import type { DriveMount, DriveProvider } from '../../../shared/drives/provider.ts'

/** A provider that keeps its mounts in memory and notes whether two calls for one path overlap. */
const provider = (mapsIds = false) => {
  const mounts = new Map<string, DriveMount | 'other'>()
  const busy = new Set<string>()
  const seen = { overlaps: 0, mounted: 0 }
  const made: DriveProvider = {
    mapsIds,
    list: async () => [...mounts.values()].filter(mount => mount !== 'other'),
    at: async path => mounts.get(path),
    async mount(wanted, defaults) {
      seen.mounted++
      if (busy.has(wanted.mountPath)) seen.overlaps++
      busy.add(wanted.mountPath)
      await new Promise(resolve => setImmediate(resolve))
      busy.delete(wanted.mountPath)
      mounts.set(wanted.mountPath, wanted)
      return mapsIds
        ? { ...wanted, uidMap: wanted.uidMap || defaults.uidMap, gidMap: wanted.gidMap || defaults.gidMap }
        : wanted
    },
    unmount: async path => void mounts.delete(path),
  }
  return { made, mounts, seen }
}

const wanted = (change: Partial<DriveMount> = {}): DriveMount => ({
  driveName: 'one',
  mountPath: '/mnt/a',
  drivePath: '/',
  readOnly: false,
  uidMap: '',
  gidMap: '',
  ...change,
})
const maps = () => ({ uidMap: '7', gidMap: '8' })

t.test('the same mount twice launches nothing, another one there is a conflict', async t => {
  const { made, mounts, seen } = provider()
  const drives = createDrives({ provider: made, reserved: [], maps })
  t.same(await drives.mount(wanted()), wanted())
  t.same(await drives.mount(wanted({ readOnly: true })), wanted(), 'what is there is told')
  t.equal(seen.mounted, 1)
  for (const change of [{ driveName: 'two' }, { drivePath: '/sub' }])
    await t.rejects(drives.mount(wanted(change)), { code: 'wrong_state', status: 409 })
  mounts.set('/mnt/b', 'other')
  await t.rejects(drives.mount(wanted({ mountPath: '/mnt/b' })), { code: 'wrong_state' })
  t.same(await drives.list(), [wanted()])
})

t.test('one mount point has one caller at a time', async t => {
  const { made, seen } = provider()
  const drives = createDrives({ provider: made, reserved: [], maps })
  await Promise.all([drives.mount(wanted()), drives.mount(wanted()), drives.mount(wanted({ mountPath: '/mnt/b' }))])
  t.same(seen, { overlaps: 0, mounted: 2 })
})

t.test('only a drive is unmounted', async t => {
  const { made, mounts } = provider()
  const drives = createDrives({ provider: made, reserved: [], maps })
  mounts.set('/mnt/b', 'other')
  await t.rejects(drives.unmount('/mnt/b'), { code: 'not_found' })
  await t.rejects(drives.unmount('/mnt/a'), { code: 'not_found' })
  await drives.mount(wanted())
  await drives.unmount('/mnt/a')
  t.same(await drives.list(), [])
})

t.test('what the sandbox needs is not covered', async t => {
  const { made, seen } = provider()
  const drives = createDrives({ provider: made, reserved: ['/.hutch', '/var/lib/hutchd'], maps })
  for (const mountPath of ['/', '/proc', '/proc/1', '/sys', '/dev/shm', '/.hutch/bin', '/var/lib', '/var'])
    await t.rejects(drives.mount(wanted({ mountPath })), { code: 'invalid_argument' }, mountPath)
  t.equal(seen.mounted, 0)
  await drives.mount(wanted({ mountPath: '/var/library' }))
})

t.test('ids are mapped where the provider can, by the defaults where none are asked for', async t => {
  const plain = createDrives({ provider: provider().made, reserved: [], maps })
  await t.rejects(plain.mount(wanted({ gidMap: '5' })), { code: 'invalid_argument', details: { field: 'gidMap' } })
  t.match(await plain.mount(wanted()), { uidMap: '', gidMap: '' })
  const mapping = createDrives({ provider: provider(true).made, reserved: [], maps })
  t.match(await mapping.mount(wanted({ gidMap: '5' })), { uidMap: '7', gidMap: '5' })
})

t.test('paths are made absolute and plain', async t => {
  for (const [given, clean] of [
    ['a', '/a'],
    ['/a/', '/a'],
    ['//a///b', '/a/b'],
    ['/', '/'],
    ['', '/'],
    ['./a/.', '/a'],
  ] as const)
    t.equal(cleanPath(given), clean, given)
})

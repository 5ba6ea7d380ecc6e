import { execFileSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { copyTree } from '../../../../../control/drivers/oci/disk/copy-tree.ts'
import { whyNoMachines } from '../../../../support/machine.ts'

const skip = whyNoMachines() ?? false
const tmpfs = 0x01021994

const python = (script: string, ...args: string[]): string =>
  execFileSync('python3', ['-c', `import os, sys; a = sys.argv[1:]\n${script}`, ...args], { encoding: 'utf8' }).trim()

/** Everything that a root of a machine has and a plain copy loses. */
const treeIn = (t: Test): string => {
  const tree = join(t.testdir({}), 'tree')
  mkdirSync(join(tree, 'etc/deep'), { recursive: true })
  writeFileSync(join(tree, 'etc/first'), 'first')
  writeFileSync(join(tree, 'etc/deep/owned'), 'owned', { mode: 0o4711 })
  execFileSync('sh', [
    '-c',
    'cd "$0" && ln etc/first etc/second && ln -s nowhere etc/link && mkfifo etc/pipe && mknod etc/gone c 0 0 && truncate -s 64M etc/holes && chown 1234:5678 etc/deep/owned etc/deep && chmod 4711 etc/deep/owned && touch -d 2001-02-03T04:05:06.789 etc/first etc/deep etc/link',
    tree,
  ])
  python(
    "os.setxattr(a[0] + '/etc/deep', 'trusted.overlay.opaque', b'y'); os.setxattr(a[0] + '/etc/first', 'user.of', b'mine')",
    tree,
  )
  return tree
}

const isWhole = (t: Test, to: string): void => {
  const of = (path: string) => lstatSync(join(to, path))
  t.equal(readFileSync(join(to, 'etc/first'), 'utf8'), 'first')
  t.equal(of('etc/first').ino, of('etc/second').ino, 'one file with two names')
  t.ok(of('etc/link').isSymbolicLink() && of('etc/pipe').isFIFO() && of('etc/gone').isCharacterDevice())
  t.same([of('etc/deep/owned').uid, of('etc/deep/owned').gid, of('etc/deep').uid], [1234, 5678, 1234])
  t.equal(of('etc/deep/owned').mode & 0o7777, 0o4711)
  t.equal(of('etc/first').mtimeMs, of('etc/deep').mtimeMs)
  t.ok(of('etc/holes').size === 64 * 1024 ** 2 && of('etc/holes').blocks < 1_000, 'holes stay holes')
  t.equal(python("print(os.getxattr(a[0] + '/etc/deep', 'trusted.overlay.opaque'))", to), "b'y'")
  t.equal(python("print(os.getxattr(a[0] + '/etc/first', 'user.of'))", to), "b'mine'")
}

t.test('a tree is copied with all that it has', { skip }, async t => {
  const from = treeIn(t)
  const to = `${from}.copy`
  await copyTree({ from, to })
  isWhole(t, to)
})

t.test('what an attempt left is gone on from, but for what it was at', { skip }, async t => {
  const from = treeIn(t)
  const to = `${from}.copy`
  await copyTree({ from, to })
  const kept = lstatSync(join(to, 'etc/holes')).ctimeMs
  // As cp leaves what it is at: half, with the time of now. The other name was not reached.
  rmSync(join(to, 'etc/second'))
  writeFileSync(join(to, 'etc/deep/owned'), 'ow')
  await copyTree({ from, to })
  isWhole(t, to)
  t.equal(readFileSync(join(to, 'etc/deep/owned'), 'utf8'), 'owned')
  t.equal(lstatSync(join(to, 'etc/holes')).ctimeMs, kept, 'it is not copied again')
})

t.test('what is half with the time of the whole is found, and copied anew', { skip }, async t => {
  const from = treeIn(t)
  const to = `${from}.copy`
  // Whole seconds: a date of Node's has milliseconds, rounded, and what is older than the source is copied anew.
  const second = 1_000_000_000
  utimesSync(join(from, 'etc/deep/owned'), second, second)
  await copyTree({ from, to })
  writeFileSync(join(to, 'etc/deep/owned'), 'ow')
  utimesSync(join(to, 'etc/deep/owned'), second, second)
  await t.rejects(copyTree({ from, to }), { code: 'driver_failed' })
  await copyTree({ from, to })
  isWhole(t, to)
  t.equal(readFileSync(join(to, 'etc/deep/owned'), 'utf8'), 'owned')
})

const other = existsSync('/dev/shm') && statfsSync('/dev/shm').type === tmpfs ? '' : 'no tmpfs at /dev/shm'

/** Gives a file on tmpfs an attribute that no ext4 can hold: ext4 has a block for all of a file, tmpfs has no end. */
const large = `
try: os.setxattr(a[0] + '/file', 'user.large', b'x' * 32768); print('set')
except OSError as error: print(error.strerror)`

t.test('an attribute that the file system there cannot hold is a failure', { skip: skip || other }, async t => {
  const place = mkdtempSync('/dev/shm/hutch-copy-')
  t.teardown(() => rmSync(place, { recursive: true }))
  writeFileSync(join(place, 'file'), '')
  const done = python(large, place)
  if (done === 'Operation not supported') {
    t.pass('tmpfs holds them from Linux 6.6 on', { skip: done })
    return
  }
  t.equal(done, 'set')
  await t.rejects(copyTree({ from: place, to: join(t.testdir({}), 'copy') }), { code: 'driver_failed' })
})

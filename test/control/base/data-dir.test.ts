import { execFileSync } from 'node:child_process'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { prepareDataDir } from '../../../control/base/data-dir.ts'
import { silentLog } from '../../../shared/log.ts'
import { smallDisk } from '../../support/small-disk.ts'

t.test('it is made, for its owner only, and may be there already', async t => {
  const dir = join(t.testdir(), 'a', 'b')
  await prepareDataDir(dir, silentLog)
  t.equal(statSync(dir).mode & 0o777, 0o700)
  await prepareDataDir(dir, silentLog)
})

t.test('what is in the way is said, with what to do', async t => {
  const file = join(t.testdir(), 'file')
  writeFileSync(file, '')
  await t.rejects(prepareDataDir(join(file, 'x'), silentLog), {
    code: 'unavailable',
    message: /cannot be made.*HUTCH_DATA_DIR/,
  })
})

t.test('where nothing can be made is an error, not a hang', async t => {
  await t.rejects(prepareDataDir('/proc/hutch/data', silentLog), {
    code: 'unavailable',
    message: /\/proc\/hutch\/data cannot be made: ENOENT.*HUTCH_DATA_DIR/,
  })
  const file = join(t.testdir(), 'file')
  writeFileSync(file, '')
  await t.rejects(prepareDataDir(file, silentLog), { message: /cannot be made: EEXIST/ })
})

t.test('one that is there and takes no files is said too', async t => {
  const disk = smallDisk(t, 128)
  if (disk === undefined) {
    t.pass('skipped: needs tmpfs mounts', { skip: 'needs tmpfs mounts' })
    return
  }
  execFileSync('mount', ['-o', 'remount,ro', disk])
  await t.rejects(prepareDataDir(disk, silentLog), { code: 'unavailable', message: /cannot be written to: EROFS/ })
})

t.test('several that start at once make one directory', async t => {
  const top = t.testdir()
  for (let round = 0; round < 100; round++) {
    const dir = join(top, String(round), 'a', 'b', 'c')
    const made = await Promise.all([1, 2, 3, 4].map(() => prepareDataDir(dir, silentLog)))
    if (made.some(path => path !== dir)) t.fail(made.join(' '))
  }
  t.pass('in every round')
})

t.test('it is known by its real path', async t => {
  const dir = t.testdir({ real: {}, link: t.fixture('symlink', 'real') })
  t.equal(await prepareDataDir(join(dir, 'link'), silentLog), join(dir, 'real'))
})

t.test('a full disk is said before anything is kept on it', async t => {
  const disk = smallDisk(t, 1)
  if (disk === undefined) {
    t.pass('skipped: needs tmpfs mounts', { skip: 'needs tmpfs mounts' })
    return
  }
  await t.rejects(prepareDataDir(join(disk, 'x'), silentLog), {
    code: 'unavailable',
    message: /MiB and \d+ inodes free; free 64 MiB/,
  })
})

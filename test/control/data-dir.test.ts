import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { prepareDataDir } from '../../control/data-dir.ts'
import { silentLog } from '../../shared/log.ts'
import { smallDisk } from '../support/small-disk.ts'

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

/** Commands on a directory where no server has been: a wrong HUTCH_DATA_DIR is said, not taken for an empty host. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { runCommand } from '../../support/command.ts'

t.setTimeout(240_000)

t.test('commands that look at what is there say that nothing is, and make nothing', async t => {
  const dataDir = t.testdir()
  const missing = join(dataDir, 'missing')
  const all = [
    [dataDir, 'key', 'list'],
    [dataDir, 'audit', 'verify'],
    [dataDir, 'audit', 'head'],
    [dataDir, 'drain', '--undo'],
    [missing, 'backup', join(dataDir, 'b.tar')],
    [missing, 'rotate'],
  ]
  await Promise.all(
    all.map(async ([at = '', ...words]) => {
      const ran = await runCommand(words, { HUTCH_DATA_DIR: at })
      t.match(ran, { code: 1, out: '', error: /^hutch: \S+ has no database; start / }, words.join(' '))
    }),
  )
  t.notOk(existsSync(missing))
  t.notOk(existsSync(join(dataDir, 'hutch.db')), 'an audit that was made a moment ago is no audit')
})

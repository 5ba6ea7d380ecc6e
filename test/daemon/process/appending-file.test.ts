import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { appendingFile } from '../../../daemon/process/appending-file.ts'
import { silentLog } from '../../../shared/log.ts'

const descriptors = (): number => readdirSync('/proc/self/fd').length

t.test('a file that cannot be put in its place leaves neither a descriptor nor itself', async t => {
  const directory = t.testdir({})
  // A directory is in the way, and the name it would get aside is longer than names may be.
  const name = 'x'.repeat(240)
  mkdirSync(join(directory, name))
  const before = descriptors()
  for (let tries = 0; tries < 3; tries++)
    t.throws(() => appendingFile(join(directory, name), () => [], silentLog).open(['a line\n']), {
      code: 'ENAMETOOLONG',
    })
  t.equal(descriptors(), before)
  t.same(readdirSync(directory), [name])
})

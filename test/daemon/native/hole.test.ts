import '../../support/native.ts'
import { closeSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { punchHoleInBackground } from '../../../daemon/native/hole/hole.ts'
import { until } from '../../support/processes.ts'

const MiB = 1024 * 1024

t.test('a hole is made beside the main thread, also when the descriptor is closed', async t => {
  const path = join(t.testdir(), 'log')
  writeFileSync(path, Buffer.alloc(16 * MiB, 'x'))
  const fd = openSync(path, 'r+')
  const hole = punchHoleInBackground(fd, 12 * MiB)
  closeSync(fd)
  if (!hole) throw new Error('no thread')
  await until('the hole', () => !hole())
  t.ok(statSync(path).blocks * 512 <= 5 * MiB)
  const bytes = readFileSync(path)
  t.equal(bytes.length, 16 * MiB)
  t.ok(bytes.subarray(12 * MiB).every(byte => byte === 0x78))
})

t.test('what cannot be done is told', async t => {
  t.throws(() => punchHoleInBackground(-1, 4096), { code: 'EBADF' })
  const fd = openSync('/dev/null', 'r+')
  const hole = punchHoleInBackground(fd, 4096)
  closeSync(fd)
  if (!hole) throw new Error('no thread')
  const answer = (): unknown => {
    try {
      return hole() ? undefined : 'done'
    } catch (error) {
      return error
    }
  }
  t.match(await until('the answer', answer), { code: 'ENODEV', syscall: 'fallocate' })
})

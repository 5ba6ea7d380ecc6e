import '../../support/native.ts'
import { closeSync, openSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadAddon } from '../../../daemon/native/load.ts'
import { kill, punchHole, tryLock, waitpid } from '../../../daemon/native/sys/sys.ts'

t.test('a hole gives blocks back and leaves size and rest', async t => {
  const path = join(t.testdir(), 'log')
  writeFileSync(path, Buffer.alloc(1024 * 1024, 'x'))
  const before = statSync(path).blocks
  const fd = openSync(path, 'r+')
  punchHole(fd, 0, 512 * 1024)
  t.throws(() => punchHole(fd, -1, 10), { code: 'EINVAL', syscall: 'fallocate' })
  closeSync(fd)
  const after = statSync(path)
  t.equal(after.size, 1024 * 1024)
  t.ok(after.blocks < before, `${before} blocks before, ${after.blocks} after`)
  const bytes = readFileSync(path)
  t.ok(bytes.subarray(0, 512 * 1024).every(byte => byte === 0))
  t.ok(bytes.subarray(512 * 1024).every(byte => byte === 'x'.charCodeAt(0)))
})

t.test('a lock has one holder, until it closes the descriptor', async t => {
  const path = join(t.testdir({ file: '' }), 'file')
  const [first, second] = [openSync(path, 'r+'), openSync(path, 'r+')]
  t.equal(tryLock(first), true)
  t.equal(tryLock(second), false)
  closeSync(first)
  t.equal(tryLock(second), true)
  closeSync(second)
  t.throws(() => tryLock(second), { code: 'EBADF' })
})

t.test('wrong arguments are errors with a code', async t => {
  t.throws(() => kill(process.pid, 1234), { code: 'EINVAL', syscall: 'kill' })
  t.equal(waitpid(process.pid), 'unknown')
})

t.test('an addon that was not built is named', async t => {
  t.throws(() => loadAddon('sys', t.testdir()), { code: 'ERR_DLOPEN_FAILED' })
})

import '../../support/native.ts'
import { closeSync, constants, fstatSync, readFileSync, readSync, writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import t from 'tap'
import { nativePtyOpener } from '../../../daemon/native/pty/pty.ts'
import { nodePtyOpener } from '../../../daemon/node-internals/node-pty.ts'
import { errno } from '../../../shared/errors.ts'
import { until } from '../../support/processes.ts'

const flagsOf = (fd: number): number =>
  Number.parseInt(/^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1] ?? '0', 8)

/** Bytes read; 0 when nothing has come yet. */
const readIfAny = (fd: number, bytes: Buffer): number => {
  try {
    return readSync(fd, bytes)
  } catch (error) {
    if (errno(error) === 'EAGAIN') return 0
    throw error
  }
}

t.test('node-pty: its native part can open and resize', t => {
  t.ok(nodePtyOpener())
  t.end()
})

for (const [name, opener] of [
  ['node-pty', nodePtyOpener()],
  ['without node-pty', nativePtyOpener],
] as const)
  t.test(`${name}: a terminal of a given size, whose sides are closed on exec and whose slave blocks`, async t => {
    if (!opener) throw new Error('no opener')
    const { master, slave } = opener.open(91, 17)
    t.teardown(() => [master, slave].forEach(fd => closeSync(fd)))
    t.ok(isatty(slave))
    t.ok(fstatSync(slave).isCharacterDevice())
    const { O_NONBLOCK } = constants
    t.equal(flagsOf(master) & O_NONBLOCK, O_NONBLOCK)
    t.equal(flagsOf(slave) & O_NONBLOCK, 0)
    const closedOnExec = 0o2000000
    for (const fd of [master, slave]) t.equal(flagsOf(fd) & closedOnExec, closedOnExec)
    const { WriteStream } = await import('node:tty')
    const size = () => {
      const stream = new WriteStream(slave)
      return [stream.columns, stream.rows]
    }
    t.same(size(), [91, 17])
    opener.resize(master, 33, 44)
    t.same(size(), [33, 44])
    writeSync(slave, 'hello')
    const bytes = Buffer.alloc(16)
    const read = await until('the output', () => readIfAny(master, bytes))
    t.equal(bytes.toString('latin1', 0, read), 'hello')
  })

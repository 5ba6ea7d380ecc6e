import {
  constants,
  fstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
  closeSync,
  readFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openCapture } from '../../../../daemon/process/output/capture.ts'
import { outputPaths } from '../../../../daemon/process/output/names.ts'
import { createScratch } from '../../../../daemon/process/output/render.ts'
import { makeUnnamed } from '../../../../daemon/native/unnamed-files/unnamed-files.ts'
import { createFilePool, createOutputFilePools, type FilePool } from '../../../../daemon/process/output/file-pool.ts'
import { tailText } from '../../../../daemon/process/output/tail.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { fakeClock } from '../../../support/clock.ts'
import { processServer, until } from '../../../support/processes.ts'

const { O_APPEND, O_RDWR } = constants
const clock = systemClock()

/** Descriptors of this process on files in `dir` that have no name. */
const unnamed = (dir: string): number[] =>
  readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`)
      return target.startsWith(`${dir}/#`) && target.endsWith(' (deleted)') ? [Number(fd)] : []
    } catch {
      // The descriptor of the directory that is being read.
      return []
    }
  })
const filled = (pool: FilePool, count: number) => until(`${count} files`, () => pool.count === count)

/** Older overlays have none: processes then run as they do without a pool. */
const skip = await makeUnnamed(t.testdir({}), O_RDWR, 0o600, 1).then(
  ([fd = -1]) => {
    closeSync(fd)
    return false as const
  },
  ({ code }) => code === 'EOPNOTSUPP' && 'files without a name do not exist here',
)

const setup = async (t: Test) => {
  const dir = join(t.testdir({ files: {} }), 'files')
  const pool = createFilePool({ dir, flags: O_RDWR | O_APPEND, mode: 0o644, max: 4, clock })
  t.teardown(() => pool.close())
  for (const name of ['first', 'second', 'third'])
    t.equal(pool.take(join(dir, name)), undefined, 'there is none before more than one process has asked')
  await filled(pool, 4)
  return { dir, pool }
}

t.test('a spare gets its name, and others are made in its place', { skip }, async t => {
  const { dir, pool } = await setup(t)
  t.same(readdirSync(dir), [], 'none has a name')
  const inodes = unnamed(dir).map(fd => fstatSync(fd).ino)
  for (const name of ['a', 'b']) {
    const fd = pool.take(join(dir, name)) as number
    t.ok(inodes.includes(fstatSync(fd).ino), 'it was there before')
    writeSync(fd, name)
    writeSync(fd, name, 0)
    closeSync(fd)
    t.equal(readFileSync(join(dir, name), 'utf8'), name + name, 'what is written is appended')
    t.equal(statSync(join(dir, name)).mode & 0o777, 0o644)
  }
  await filled(pool, 4)
  closeSync(pool.take(join(dir, 'c')) as number)
  await filled(pool, 4)
})

t.test('for the first process none is made while it is waited for, but later', { skip }, async t => {
  const dir = t.testdir({})
  const later = fakeClock()
  const pool = createFilePool({ dir, flags: O_RDWR, mode: 0o600, max: 4, clock: later })
  t.teardown(() => pool.close())
  for (const name of ['out', 'err']) t.equal(pool.take(join(dir, name)), undefined)
  // One that began before has ended by then.
  for (let round = 0; round < 20; round++) {
    const [fd = -1] = await makeUnnamed(dir, O_RDWR, 0o600, 1)
    closeSync(fd)
    await new Promise(resolve => setImmediate(resolve))
  }
  t.equal(pool.count, 0)
  await later.tick(1_000)
  await filled(pool, 4)
})

t.test('a name that is taken is told, and costs no spare', { skip }, async t => {
  const { dir, pool } = await setup(t)
  writeFileSync(join(dir, 'mine'), 'mine')
  t.throws(() => pool.take(join(dir, 'mine')), { code: 'EEXIST' })
  t.equal(readFileSync(join(dir, 'mine'), 'utf8'), 'mine')
  t.equal(unnamed(dir).length, 4)
})

t.test('files for a directory that is gone are given up, and come again with it', { skip }, async t => {
  const { dir, pool } = await setup(t)
  const opened = unnamed(dir)
  rmSync(dir, { recursive: true })
  t.equal(pool.take(join(dir, 'x')), undefined)
  await until('all to be closed', () =>
    opened.every(fd => {
      try {
        return !readlinkSync(`/proc/self/fd/${fd}`).startsWith(dir)
      } catch {
        // Closed.
        return true
      }
    }),
  )
  mkdirSync(dir)
  await until('a spare', () => {
    const fd = pool.take(join(dir, 'x'))
    if (fd !== undefined) closeSync(fd)
    return fd !== undefined
  })
  t.same(readdirSync(dir), ['x'])
})

t.test('where there are no files without a name, none is given and nothing fails', async t => {
  const pool = createFilePool({ dir: '/proc', flags: O_RDWR, mode: 0o600, max: 4, clock })
  t.teardown(() => pool.close())
  for (let round = 0; round < 3; round++) {
    t.equal(pool.take('/proc/x'), undefined)
    await new Promise(resolve => setImmediate(resolve))
  }
})

t.test('nothing is left open when a pool is closed, also what is being made', { skip }, async t => {
  const { dir, pool } = await setup(t)
  for (const name of ['a', 'b']) closeSync(pool.take(join(dir, name)) as number)
  pool.close()
  await until('all to be closed', () => unnamed(dir).length === 0)
  t.equal(pool.take(join(dir, 'c')), undefined)
})

t.test('a capture takes all its files from pools, and overwrites what an earlier one left', { skip }, async t => {
  const dir = t.testdir({ positions: {}, logs: {} })
  const dirs = { logDir: join(dir, 'logs'), positionsDir: join(dir, 'positions') }
  const later = fakeClock()
  const pools = createOutputFilePools(dirs, later)
  t.teardown(() => pools.close())
  const scratch = createScratch()
  const run = (key: string) => {
    const capture = openCapture({ paths: outputPaths(dirs, key), fresh: true, ended: false, scratch, pools })
    const [out, err] = capture.childDescriptors
    writeSync(out, 'out\n')
    writeSync(err, 'err\n')
    capture.end()
    t.equal(tailText(capture, 0, 100), 'out\n')
    t.equal(readFileSync(outputPaths(dirs, key).combined, 'utf8'), 'stdout:out\nstderr:err\n')
    capture.close()
  }
  run('first')
  await later.tick(1_000)
  await filled(pools.streams, 16)
  await filled(pools.combined, 8)
  await filled(pools.positions, 8)
  run('second')
  t.equal(unnamed(dirs.logDir).length, 21)
  t.equal(unnamed(dirs.positionsDir).length, 7)
  t.equal(statSync(join(dirs.positionsDir, 'second')).mode & 0o777, 0o600)
  for (const path of ['third.stdout.log', 'third.stderr.log', 'third.log'])
    writeFileSync(join(dirs.logDir, path), 'left by somebody')
  run('third')
})

t.test('output of processes is the same whether their files were made before or not', { skip }, async t => {
  const { call, config } = await processServer(t)
  for (let round = 0; round < 3; round++) {
    const { body } = await call('POST', '/process', {
      body: { command: 'echo out; echo err >&2', name: `p${round}`, waitForCompletion: true },
    })
    t.match(body, { stdout: 'out\n', stderr: 'err\n' })
    t.equal(readFileSync(join(config.logs.dir, `p${round}.stdout.log`), 'utf8'), 'out\n')
    t.equal(readFileSync(join(config.logs.dir, `p${round}.log`), 'utf8'), 'stdout:out\nstderr:err\n')
    await until('files for the next', () => unnamed(config.logs.dir).length >= 16)
  }
  rmSync(config.logs.dir, { recursive: true })
  const { body } = await call('POST', '/process', { body: { command: 'echo again', waitForCompletion: true } })
  t.match(body, { stdout: 'again\n' }, 'also without the directory they were made for')
})

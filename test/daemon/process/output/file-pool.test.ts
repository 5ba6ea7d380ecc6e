import {
  constants,
  fstatSync,
  mkdirSync,
  openSync,
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
import { systemClock, type Clock } from '../../../../shared/clock.ts'
import { fakeClock } from '../../../support/clock.ts'
import { until } from '../../../support/processes.ts'

const { O_APPEND, O_CREAT, O_EXCL, O_RDWR } = constants
const clock = systemClock()

/** A clock by which everything takes `ms`. */
const taking = (ms: number, { after }: Pick<Clock, 'after'> = clock): Pick<Clock, 'after' | 'elapsed'> => {
  let now = 0
  return { after, elapsed: () => (now += ms) }
}
const slow = (of?: Pick<Clock, 'after'>) => taking(1, of)

/** A file of the pool and whether it was made the ordinary way. */
const takeFrom = (pool: FilePool, path: string): { fd: number; isMade: boolean } => {
  let isMade = false
  const fd = pool.take(path, () => {
    isMade = true
    return openSync(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL, 0o644)
  })
  return { fd, isMade }
}
/** The same, closed at once. */
const isMadeNow = (pool: FilePool, path: string): boolean => {
  const { fd, isMade } = takeFrom(pool, path)
  closeSync(fd)
  return isMade
}

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
  const pool = createFilePool({ dir, flags: O_RDWR | O_APPEND, mode: 0o644, max: 4, clock: slow() })
  t.teardown(() => pool.close())
  for (const name of ['first', 'second', 'third'])
    t.ok(isMadeNow(pool, join(dir, name)), 'there is none before more than one process has asked')
  await filled(pool, 4)
  return { dir, pool }
}

t.test('a spare gets its name, and others are made in its place', { skip }, async t => {
  const { dir, pool } = await setup(t)
  t.same(readdirSync(dir), ['first', 'second', 'third'], 'no other has a name')
  const inodes = unnamed(dir).map(fd => fstatSync(fd).ino)
  for (const name of ['a', 'b']) {
    const { fd } = takeFrom(pool, join(dir, name))
    t.ok(inodes.includes(fstatSync(fd).ino), 'it was there before')
    writeSync(fd, name)
    writeSync(fd, name, 0)
    closeSync(fd)
    t.equal(readFileSync(join(dir, name), 'utf8'), name + name, 'what is written is appended')
    t.equal(statSync(join(dir, name)).mode & 0o777, 0o644)
  }
  await filled(pool, 4)
  t.notOk(isMadeNow(pool, join(dir, 'c')))
  await filled(pool, 4)
})

t.test('a name that is taken is told, and costs no spare', { skip }, async t => {
  const { dir, pool } = await setup(t)
  writeFileSync(join(dir, 'mine'), 'mine')
  t.throws(() => takeFrom(pool, join(dir, 'mine')), { code: 'EEXIST' })
  t.equal(readFileSync(join(dir, 'mine'), 'utf8'), 'mine')
  t.equal(unnamed(dir).length, 4)
})

t.test('files for a directory that is gone are given up, and come again with it', { skip }, async t => {
  const { dir, pool } = await setup(t)
  const opened = unnamed(dir)
  rmSync(dir, { recursive: true })
  t.throws(() => takeFrom(pool, join(dir, 'x')), { code: 'ENOENT' }, 'as it is without a pool')
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
    rmSync(join(dir, 'x'), { force: true })
    return !isMadeNow(pool, join(dir, 'x'))
  })
  t.same(readdirSync(dir), ['x'])
})

t.test('where there are no files without a name, none is given and nothing fails', async t => {
  const pool = createFilePool({ dir: '/proc', flags: O_RDWR, mode: 0o600, max: 4, clock: slow() })
  t.teardown(() => pool.close())
  for (let round = 0; round < 3; round++) {
    t.equal(
      pool.take('/proc/x', () => 7),
      7,
    )
    await new Promise(resolve => setImmediate(resolve))
  }
})

t.test('nothing is left open when a pool is closed, also what is being made', { skip }, async t => {
  const { dir, pool } = await setup(t)
  for (const name of ['a', 'b']) isMadeNow(pool, join(dir, name))
  pool.close()
  await until('all to be closed', () => unnamed(dir).length === 0)
  t.ok(isMadeNow(pool, join(dir, 'c')))
})

t.test('where making a file takes no time none is made ahead, and single delays change nothing', { skip }, async t => {
  const dir = t.testdir({})
  let ms = 0
  let now = 0
  const at = { after: clock.after, elapsed: () => (now += ms) }
  const pool = createFilePool({ dir, flags: O_RDWR, mode: 0o644, max: 2, clock: at })
  t.teardown(() => pool.close())
  let files = 0
  const take = async (takes: number): Promise<boolean> => {
    ms = takes
    const isMade = isMadeNow(pool, join(dir, String(files++)))
    // One that began now has ended by then.
    for (let round = 0; round < 4; round++) {
      const [fd = -1] = await makeUnnamed(dir, O_RDWR, 0o600, 1)
      closeSync(fd)
      await new Promise(resolve => setImmediate(resolve))
    }
    return isMade
  }
  for (const takes of [0, 0.05, 1, 1, 0, 1, 1, 0.05, 1, 0]) t.ok(await take(takes))
  t.equal(pool.count, 0)
  for (let round = 0; round < 3; round++) t.ok(await take(1))
  t.equal(pool.count, 2, 'three in turn are no chance')
  let ahead = 0
  while (!(await take(0))) ahead++
  t.equal(ahead, 16, 'it is found out again once these are used')
  t.ok(await take(0))
  t.equal(pool.count, 0)
})

t.test('a capture takes all its files from pools, and overwrites what an earlier one left', { skip }, async t => {
  const dir = t.testdir({ positions: {}, logs: {} })
  const dirs = { logDir: join(dir, 'logs'), positionsDir: join(dir, 'positions') }
  const later = fakeClock()
  const pools = createOutputFilePools(dirs, slow(later))
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
  for (const name of ['first', 'before', 'again']) run(name)
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

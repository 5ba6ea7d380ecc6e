/**
 * Files without a name, made ahead and off the main thread. On ext4 without a journal, making a file looks at the inodes
 * that were freed in the last minutes, which can take a millisecond after many files were deleted; naming one that is
 * there takes some microseconds. With a journal, and on tmpfs, nothing is gained.
 */
import { closeSync, constants } from 'node:fs'
import type { Clock } from '../../../shared/clock.ts'
import { errno } from '../../../shared/errors.ts'
import { makeUnnamed, nameFile } from '../../native/unnamed-files/unnamed-files.ts'

export interface FilePool {
  /** How many files wait. */
  readonly count: number
  /**
   * An open, empty file, now named `path`; undefined when the pool is empty: make the file the ordinary way. Throws
   * `EEXIST` when something has the name.
   */
  take(path: string): number | undefined
  close(): void
}

interface FilePoolOptions {
  /** On the file system in which the files get their names. */
  readonly dir: string
  readonly flags: number
  readonly mode: number
  /** How many are held at most; each is a descriptor. */
  readonly max: number
  readonly clock: Clock
}

interface PoolContext extends FilePoolOptions {
  readonly ready: number[]
  /** Files that were asked for so far. */
  asked: number
  cancelTopUp: (() => void) | undefined
  making: boolean
  /** False once the file system turned out to have no such files. */
  possible: boolean
}

/** Errors that pass: the directory comes again, the disk has room again. Any other means that there are no such files here. */
const transient: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'ENOMEM'])

const topUpMs = 1_000
/** Of one process: many a machine runs one command and no other, and somebody waits for it. */
const firstFiles = 2

const closeAll = ({ ready }: PoolContext): void => {
  for (const fd of ready.splice(0)) closeSync(fd)
}

const fill = async (pool: PoolContext): Promise<void> => {
  const { dir, flags, mode, max, ready } = pool
  const made = await makeUnnamed(dir, flags, mode, max - ready.length).catch(error => {
    // The next caller makes an ordinary file, and gets the error if that fails too.
    if (!transient.has(errno(error))) pool.possible = false
    return []
  })
  ready.push(...made)
  pool.making = false
  if (!pool.possible) closeAll(pool)
  // Some may have been taken meanwhile. After an error only the next `take` tries again.
  else if (made.length > 0) refill(pool)
}

const startFilling = (pool: PoolContext): void => {
  if (pool.making || !pool.possible || pool.ready.length >= pool.max) return
  pool.making = true
  // Later: first comes what the file was taken for.
  setImmediate(() => void fill(pool))
}

/** Refills at once when half of them are gone, else, and for the first process, when there is time. */
const refill = (pool: PoolContext): void => {
  if (pool.ready.length === pool.max) return
  if (pool.ready.length <= pool.max / 2 && pool.asked > firstFiles) return startFilling(pool)
  if (!pool.possible) return
  pool.cancelTopUp ??= pool.clock.after(topUpMs, () => {
    pool.cancelTopUp = undefined
    startFilling(pool)
  })
}

const take = (pool: PoolContext, path: string): number | undefined => {
  const fd = pool.ready.pop()
  pool.asked++
  refill(pool)
  if (fd === undefined) return undefined
  try {
    nameFile(fd, path)
    return fd
  } catch (error) {
    if (errno(error) === 'EEXIST') {
      pool.ready.push(fd)
      throw error
    }
    // The tenant removed the directory, or mounted another file system there: the files cannot be named any more.
    closeSync(fd)
    closeAll(pool)
    return undefined
  }
}

/** Holds no file before the first was asked for: a daemon that runs nothing needs none. */
export const createFilePool = (options: FilePoolOptions): FilePool => {
  const pool: PoolContext = { ...options, ready: [], asked: 0, cancelTopUp: undefined, making: false, possible: true }
  return {
    get count() {
      return pool.ready.length
    },
    take: path => take(pool, path),
    close() {
      pool.possible = false
      pool.cancelTopUp?.()
      closeAll(pool)
    },
  }
}

/** A file of the pool, named `path`, else what `open` opens: there may be a file already. */
export const takeOrOpen = (pool: FilePool | undefined, path: string, open: () => number): number => {
  try {
    return pool?.take(path) ?? open()
  } catch (error) {
    if (errno(error) !== 'EEXIST') throw error
    return open()
  }
}

/** The pools of all files that a process has. */
export interface OutputFilePools {
  readonly streams: FilePool
  readonly combined: FilePool
  readonly positions: FilePool
  close(): void
}

const { O_APPEND, O_NONBLOCK, O_RDWR } = constants

/** Enough for a burst of processes; one that writes nothing needs only its two streams. */
export const createOutputFilePools = (
  dirs: { logDir: string; positionsDir: string },
  clock: Clock,
): OutputFilePools => {
  const logs = { dir: dirs.logDir, flags: O_RDWR | O_NONBLOCK, mode: 0o644, clock }
  const streams = createFilePool({ ...logs, flags: logs.flags | O_APPEND, max: 16 })
  const combined = createFilePool({ ...logs, max: 8 })
  const positions = createFilePool({ dir: dirs.positionsDir, flags: O_RDWR, mode: 0o600, max: 8, clock })
  return {
    streams,
    combined,
    positions,
    close() {
      for (const pool of [streams, combined, positions]) pool.close()
    },
  }
}

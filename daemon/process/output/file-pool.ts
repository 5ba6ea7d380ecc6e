/**
 * Files without a name, made ahead and off the main thread where making one takes long. On ext4 without a journal it looks at
 * the inodes that were freed in the last minutes, which can take a millisecond after many files were deleted; naming one that is
 * there takes some microseconds. With a journal, and on tmpfs, a file is made in some microseconds, and one that was made ahead
 * costs more than that: whether it is worth it is found out by making some the ordinary way.
 */
import { closeSync, constants } from 'node:fs'
import type { Clock } from '../../../shared/clock.ts'
import { errno } from '../../../shared/errors.ts'
import { makeUnnamed, nameFile } from '../../native/unnamed-files/unnamed-files.ts'

export interface FilePool {
  /** How many files wait. */
  readonly count: number
  /** An open, empty file, now named `path`, or what `make` returns when none waits. Throws `EEXIST` when something has the name. */
  take(path: string, make: () => number): number
  close(): void
}

interface FilePoolOptions {
  /** On the file system in which the files get their names. */
  readonly dir: string
  readonly flags: number
  readonly mode: number
  /** How many are held at most; each is a descriptor. */
  readonly max: number
  readonly clock: Pick<Clock, 'after' | 'elapsed'>
}

interface PoolContext extends FilePoolOptions {
  readonly ready: number[]
  /** Files that were made the ordinary way and took long, one after the other; a busy machine delays single ones anywhere. */
  slow: number
  /** Files that are worth making ahead before it is found out again. */
  worth: number
  cancelTopUp: (() => void) | undefined
  making: boolean
  /** False once the file system turned out to have no such files. */
  possible: boolean
}

/** Errors that pass: the directory comes again, the disk has room again. Any other means that there are no such files here. */
const transient: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'ENOMEM'])

const topUpMs = 1_000
/** What takes longer is slow: six times what it takes where nothing is gained, and half as much again as on a plain ext4. */
const slowMs = 0.1
/** More than one process has: many a machine runs one command and no other, and somebody waits for it. */
const slowInTurn = 3
/** For so many times `max` files they are made ahead then. */
const worthTimes = 8

const closeAll = ({ ready }: PoolContext): void => {
  for (const fd of ready.splice(0)) closeSync(fd)
}

const fill = async (pool: PoolContext): Promise<void> => {
  const { dir, flags, mode, max, ready } = pool
  const wanted = Math.min(pool.worth, max - ready.length)
  const made = await makeUnnamed(dir, flags, mode, wanted).catch(error => {
    // The next caller makes an ordinary file, and gets the error if that fails too.
    if (!transient.has(errno(error))) pool.possible = false
    return []
  })
  ready.push(...made)
  pool.worth -= made.length
  pool.making = false
  if (!pool.possible) closeAll(pool)
  // Some may have been taken meanwhile. After an error only the next `take` tries again.
  else if (made.length > 0) refill(pool)
}

const startFilling = (pool: PoolContext): void => {
  if (pool.making || !pool.possible || pool.worth === 0 || pool.ready.length >= pool.max) return
  pool.making = true
  // Later: first comes what the file was taken for.
  setImmediate(() => void fill(pool))
}

/** Refills at once when half of them are gone, else when there is time. */
const refill = (pool: PoolContext): void => {
  if (pool.ready.length === pool.max || pool.worth === 0) return
  if (pool.ready.length <= pool.max / 2) return startFilling(pool)
  if (!pool.possible) return
  pool.cancelTopUp ??= pool.clock.after(topUpMs, () => {
    pool.cancelTopUp = undefined
    startFilling(pool)
  })
}

/** Makes one the ordinary way, and learns from that whether others are to be made ahead. */
const makeNow = (pool: PoolContext, make: () => number): number => {
  const { clock, max } = pool
  const from = clock.elapsed()
  const fd = make()
  pool.slow = clock.elapsed() - from > slowMs ? pool.slow + 1 : 0
  if (pool.slow >= slowInTurn) pool.worth = worthTimes * max
  refill(pool)
  return fd
}

const take = (pool: PoolContext, path: string, make: () => number): number => {
  const fd = pool.ready.pop()
  if (fd === undefined) return makeNow(pool, make)
  refill(pool)
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
    return make()
  }
}

/** Holds no file before making the first ones has taken long. */
export const createFilePool = (options: FilePoolOptions): FilePool => {
  const pool: PoolContext = {
    ...options,
    ready: [],
    slow: 0,
    worth: 0,
    cancelTopUp: undefined,
    making: false,
    possible: true,
  }
  return {
    get count() {
      return pool.ready.length
    },
    take: (path, make) => take(pool, path, make),
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
    return pool ? pool.take(path, open) : open()
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
  clock: FilePoolOptions['clock'],
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

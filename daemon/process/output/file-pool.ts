/**
 * Files that wait for a name. To make a file can take most of a millisecond, since ext4 looks at every inode that was
 * freed in the last minutes; to give one a name takes some microseconds. So a few are made ahead, off the main thread.
 */
import { closeSync, constants } from 'node:fs'
import type { Clock } from '../../../shared/clock.ts'
import { errno } from '../../../shared/errors.ts'
import { makeUnnamed, nameFile } from '../../native/unnamed-files/unnamed-files.ts'

export interface FilePool {
  /** How many wait. */
  readonly count: number
  /**
   * An open, empty file, now named `path`, or undefined: make it the ordinary way. Throws `EEXIST` when something has
   * the name. New spares are made behind it.
   */
  take(path: string): number | undefined
  close(): void
}

export interface FilePoolOptions {
  /** On the file system in which the files get their names. */
  readonly dir: string
  readonly flags: number
  readonly mode: number
  /** How many are held at most; each is a descriptor. */
  readonly max: number
  readonly clock: Clock
}

/** What passes: the directory comes again, the disk has room again. All else means that there are no such files here. */
const passing: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'ENOMEM'])

const topUpMs = 1_000

/**
 * Holds none before the first was asked for: a daemon that runs nothing needs none. Makes them again when half of them
 * are gone, several with one turn on the thread pool, and the rest when there is time.
 */
export const createFilePool = ({ dir, flags, mode, max, clock }: FilePoolOptions): FilePool => {
  const ready: number[] = []
  let cancelTopUp: (() => void) | undefined
  let making = false
  let possible = true

  const drop = (): void => {
    for (const fd of ready.splice(0)) closeSync(fd)
  }
  const fill = async (): Promise<void> => {
    const made = await makeUnnamed(dir, flags, mode, max - ready.length).catch(error => {
      // Whoever asks gets an ordinary file, and hears what is wrong with that.
      if (!passing.has(errno(error))) possible = false
      return []
    })
    ready.push(...made)
    making = false
    if (!possible) drop()
    // Some may have been taken meanwhile. After an error only the next one that is asked for tries again.
    else if (made.length > 0) refill()
  }
  const begin = (): void => {
    if (making || !possible || ready.length >= max) return
    making = true
    // Later, when what the file is for has been started.
    setImmediate(() => void fill())
  }
  const topUp = (): void => {
    cancelTopUp = undefined
    begin()
  }
  const refill = (): void => {
    if (ready.length === max) return
    if (ready.length <= max / 2) begin()
    else if (possible) cancelTopUp ??= clock.after(topUpMs, topUp)
  }
  return {
    get count() {
      return ready.length
    },
    take(path) {
      const fd = ready.pop()
      refill()
      if (fd === undefined) return undefined
      try {
        nameFile(fd, path)
        return fd
      } catch (error) {
        if (errno(error) === 'EEXIST') {
          ready.push(fd)
          throw error
        }
        // The tenant removed the directory, or put another file system in its place: these fit no more.
        closeSync(fd)
        drop()
        return undefined
      }
    },
    close() {
      possible = false
      cancelTopUp?.()
      drop()
    },
  }
}

/** A spare named `path`, else what `open` opens: there may be a file already. */
export const takeOrOpen = (pool: FilePool | undefined, path: string, open: () => number): number => {
  try {
    return pool?.take(path) ?? open()
  } catch (error) {
    if (errno(error) !== 'EEXIST') throw error
    return open()
  }
}

/** Those of all files that a process has. */
export interface OutputFilePools {
  readonly streams: FilePool
  readonly combined: FilePool
  readonly positions: FilePool
  close(): void
}

const { O_APPEND, O_NONBLOCK, O_RDWR } = constants

/** Spares for some processes; one that writes nothing needs only its two streams. */
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

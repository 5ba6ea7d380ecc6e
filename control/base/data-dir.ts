/** The directory that holds everything of a host: there, ours, and with room in it. */
import { mkdir, mkdtemp, realpath, rmdir, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errno, fail, messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'

const MiB = 1024 * 1024
/** Below the first nothing starts, because not even records could be kept; below the second the operator is told. */
const minFree = 64 * MiB
const lowFree = 1024 * MiB

const another = 'set HUTCH_DATA_DIR to another directory'

const unusable = (what: string, error: unknown) => {
  const next = ['EACCES', 'EPERM'].includes(errno(error) ?? '') ? `run as root, or ${another}` : another
  return fail('unavailable', { what: `${what}: ${messageOf(error)}`, next }, error)
}

/**
 * Makes the directory (0700) and what is missing above it, one after the other: Node's own recursive mkdir never comes
 * back where a directory cannot have children, as in /proc.
 */
const makeDirectory = async (path: string, hasParent = false): Promise<void> => {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    const isThere = errno(error) === 'EEXIST' && (await stat(path)).isDirectory()
    if (isThere) return
    const parent = dirname(path)
    if (errno(error) !== 'ENOENT' || parent === path || hasParent) throw error
    // Tried again also where the parent is there: another program may just have made it.
    if (!(await exists(parent))) await makeDirectory(parent)
    await makeDirectory(path, true)
  }
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    error => {
      if (errno(error) === 'ENOENT') return false
      throw error
    },
  )

/** A directory that is there may be on a disk that takes no files. */
const checkWritable = async (dataDir: string): Promise<void> => {
  const probe = await mkdtemp(join(dataDir, '.probe-'))
  await rmdir(probe)
}

/**
 * Makes the directory (0700) where it is missing and gives its real path. Throws `unavailable` saying what is wrong with
 * it and what to do.
 */
export const prepareDataDir = async (dataDir: string, log: Log): Promise<string> => {
  await makeDirectory(dataDir).catch(error => {
    throw unusable(`the data directory ${dataDir} cannot be made`, error)
  })
  const { bavail, bsize, ffree } = await statfs(dataDir)
  const free = bavail * bsize
  const what = `the disk of ${dataDir} has ${Math.floor(free / MiB)} MiB and ${ffree} inodes free`
  if (free < minFree) throw fail('unavailable', { what, next: `free ${minFree / MiB} MiB or more, or ${another}` })
  await checkWritable(dataDir).catch(error => {
    throw unusable(`the data directory ${dataDir} cannot be written to`, error)
  })
  if (free < lowFree) log.warn('disk.low', { what, next: 'free some: sandboxes share this disk' })
  return realpath(dataDir)
}

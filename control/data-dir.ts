/** The directory that holds everything of a host: there, ours, and with room in it. */
import { mkdir, statfs } from 'node:fs/promises'
import { errno, fail, messageOf } from '../shared/errors.ts'
import type { Log } from '../shared/log.ts'

const MiB = 1024 * 1024
/** Below the first nothing starts, because not even records could be kept; below the second the operator is told. */
const leastFree = 64 * MiB
const littleFree = 1024 * MiB

const another = 'or set HUTCH_DATA_DIR to another directory'

/** Makes the directory (0700) where it is missing. Throws `unavailable` saying what is wrong with it and what to do. */
export const prepareDataDir = async (dataDir: string, log: Log): Promise<void> => {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
  } catch (error) {
    const next = errno(error) === 'EACCES' ? `run as root, ${another}` : another.slice('or '.length)
    throw fail(
      'unavailable',
      { what: `the data directory ${dataDir} cannot be made: ${messageOf(error)}`, next },
      error,
    )
  }
  const { bavail, bsize, ffree } = await statfs(dataDir)
  const free = bavail * bsize
  const what = `the disk of ${dataDir} has ${Math.floor(free / MiB)} MiB and ${ffree} inodes free`
  if (free < leastFree) throw fail('unavailable', { what, next: `free ${leastFree / MiB} MiB or more, ${another}` })
  if (free < littleFree) log.warn('disk.low', { what, next: 'free some: sandboxes share this disk' })
}

/**
 * Tables of the kernel that the box and all machines share, and that are large enough when one machine has taken what it
 * may. What their entries cost is charged to the machine that has them, so each meets its own memory limit first.
 */
import { open, readFile, writeFile } from 'node:fs/promises'
import { errno } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'

/** At least so much, by file below /proc/sys. */
export const sharedLimits: Readonly<Record<string, bigint>> = {
  // Counted by user, and so by machine where these have users of their own.
  'fs/inotify/max_user_instances': 1_048_576n,
  'fs/inotify/max_user_watches': 4_194_304n,
  // 32 bytes and more each: more than fit into any memory.
  'fs/aio-max-nr': 1_099_511_627_776n,
  'fs/file-max': 9_223_372_036_854_775_807n,
  // 1024 for each of a thousand machines; the most there can be.
  'kernel/pty/max': 1_048_576n,
  // 4096 for each of a thousand machines.
  'kernel/pid_max': 4_194_304n,
  'kernel/threads-max': 4_194_304n,
  // Two for each machine, of a few instances.
  'net/ipv4/neigh/default/gc_thresh3': 65_536n,
  'net/ipv4/neigh/default/gc_thresh2': 32_768n,
  'net/ipv4/neigh/default/gc_thresh1': 16_384n,
}

const nextFor = (least: bigint): string => `write ${least} to it: machines share what it allows`

/** Calls `raise` with the file of each that is lower, and `failed` with what keeps it from that. */
const eachLower = async (
  raise: (file: string, least: bigint) => Promise<void>,
  failed: (file: string, why: { error: unknown; next: string }) => void,
): Promise<void> => {
  for (const [name, least] of Object.entries(sharedLimits)) {
    const file = `/proc/sys/${name}`
    try {
      if (BigInt((await readFile(file, 'utf8')).trim()) < least) await raise(file, least)
    } catch (error) {
      // A kernel without the part has no such table.
      if (errno(error) !== 'ENOENT') failed(file, { error, next: nextFor(least) })
    }
  }
}

/** Raises what is lower; a box that does not let us is told what to do. They stay, as other instances need them. */
export const raiseSharedLimits = (log: Log): Promise<void> =>
  eachLower(
    async (file, least) => {
      await writeFile(file, String(least))
      log.info('limit.raised', { file, value: String(least) })
    },
    (file, why) => log.warn('limit.low', { file, ...why }),
  )

/** The files of those that are lower and that a server could not raise; raises none. */
export const lowLimits = async (): Promise<string[]> => {
  const low: string[] = []
  await eachLower(
    async file => (await open(file, 'r+')).close(),
    (file, { next }) => void low.push(`${file} (${next})`),
  )
  return low
}

/** Whether asynchronous I/O has room for all; where not, machines do without it, as one could take all of it. */
export const hasRoomForAio = async (): Promise<boolean> => {
  try {
    return (
      BigInt((await readFile('/proc/sys/fs/aio-max-nr', 'utf8')).trim()) >= (sharedLimits['fs/aio-max-nr'] as bigint)
    )
  } catch (error) {
    // The kernel has none.
    if (errno(error) === 'ENOENT') return true
    throw error
  }
}

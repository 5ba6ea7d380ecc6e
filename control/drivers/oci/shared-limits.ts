/**
 * Tables of the kernel that the box and all machines share, and that are large enough when one machine has taken what it
 * may. What their entries cost is charged to the machine that has them, so each meets its own memory limit first.
 */
import { readFile, writeFile } from 'node:fs/promises'
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

/** Raises what is lower; a box that does not let us is told what to do. They stay, as other instances need them. */
export const raiseSharedLimits = async (log: Log): Promise<void> => {
  for (const [name, least] of Object.entries(sharedLimits)) {
    const file = `/proc/sys/${name}`
    try {
      if (BigInt((await readFile(file, 'utf8')).trim()) >= least) continue
      await writeFile(file, String(least))
      log.info('limit.raised', { file, value: String(least) })
    } catch (error) {
      // A kernel without the part has no such table.
      if (errno(error) === 'ENOENT') continue
      log.warn('limit.low', { file, error, next: `write ${least} to it: machines share what it allows` })
    }
  }
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

/**
 * Limits of the kernel per user id. Root of every machine is user 0 to the kernel, as are the services of the box: with
 * the usual 128 inotify instances one tenant could leave none to anybody else. Raised, each machine meets its own memory
 * limit first, since what these count is charged to it.
 */
import { readFile, writeFile } from 'node:fs/promises'
import type { Log } from '../../../shared/log.ts'

const least: Readonly<Record<string, number>> = {
  '/proc/sys/fs/inotify/max_user_instances': 1_048_576,
  '/proc/sys/fs/inotify/max_user_watches': 4_194_304,
}

/** Raises what is lower; a box that does not let us is told what to do. They stay, as other instances need them. */
export const raiseSharedLimits = async (log: Log): Promise<void> => {
  for (const [file, value] of Object.entries(least))
    try {
      if (Number(await readFile(file, 'utf8')) >= value) continue
      await writeFile(file, String(value))
      log.info('limit.raised', { file, value })
    } catch (error) {
      log.warn('limit.low', { file, error, next: `write ${value} to it: machines share what it allows` })
    }
}

/** All sandboxes share the kernel's inotify limits of one user, and every daemon that watches needs an instance. */
import { readFile, writeFile } from 'node:fs/promises'
import { messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'

/** Enough for thousands of sandboxes; the kernel takes memory only for what is used. */
const wanted = { max_user_instances: 8_192, max_user_watches: 1_048_576 }

/** Raises limits that are lower; they stay raised. A box that forbids it is told of, not refused. */
export const allowWatches = async (log: Log): Promise<void> => {
  for (const [name, least] of Object.entries(wanted)) {
    const file = `/proc/sys/fs/inotify/${name}`
    try {
      if (Number(await readFile(file, 'utf8')) >= least) continue
      await writeFile(file, String(least))
      log.info('inotify.raised', { file, to: least })
    } catch (error) {
      log.warn('inotify.low', { file, reason: messageOf(error), next: `sysctl -w fs.inotify.${name}=${least}` })
    }
  }
}

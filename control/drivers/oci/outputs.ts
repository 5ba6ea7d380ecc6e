/** Keeps what machines' daemons print from filling the disk of the box. */
import { stat, truncate } from 'node:fs/promises'
import { errno } from '../../../shared/errors.ts'
import { children } from './cgroup/hierarchy.ts'
import { filesOf, machinesDir } from './layout.ts'

const mostBytes = 1024 * 1024

/** Empties every output that has grown beyond 1 MiB; the daemons append, so that they go on at the new end. */
export const trimOutputs = async (dataDir: string): Promise<void> => {
  for (const id of (await children(machinesDir(dataDir))) ?? []) {
    const { output } = filesOf(dataDir, id)
    try {
      if ((await stat(output)).size > mostBytes) await truncate(output)
    } catch (error) {
      // Removed meanwhile, or not started yet.
      if (errno(error) !== 'ENOENT') throw error
    }
  }
}

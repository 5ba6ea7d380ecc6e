/** Keeps what machines' daemons print small (`outputs.ts` says where it is). */
import { readdir, stat, statfs, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { errno } from '../../../shared/errors.ts'
import { children } from './cgroup/hierarchy.ts'
import { earlierOutput, filesOf, machinesDir } from './layout.ts'

const mostBytes = 1024 * 1024
const blockBytes = 512

/** By what it takes, too: blocks may be taken for what is beyond a file's end. */
const cut = async (output: string): Promise<void> => {
  try {
    const { size, blocks } = await stat(output)
    if (Math.max(size, blocks * blockBytes) > mostBytes) await truncate(output)
  } catch (error) {
    // Removed meanwhile, or not started yet.
    if (errno(error) !== 'ENOENT') throw error
  }
}

/** Empties every output that takes more than 1 MiB; the daemons append, so that they go on at the new end. */
export const trimOutputs = async (directory: string): Promise<void> => {
  const { blocks, bfree, bsize } = await statfs(directory)
  if ((blocks - bfree) * bsize <= mostBytes) return
  for (const name of await readdir(directory)) await cut(join(directory, name))
}

/** The same of machines that run since a version before, which kept it on disk. */
export const trimEarlierOutputs = async (dataDir: string): Promise<void> => {
  for (const id of (await children(machinesDir(dataDir))) ?? []) await cut(earlierOutput(filesOf(dataDir, id)))
}

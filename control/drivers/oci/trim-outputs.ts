/** Keeps what machines' daemons print small (`outputs.ts` says where it is). */
import { readdir, stat, statfs, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { errno } from '../../../shared/errors.ts'
import { children } from './cgroup/hierarchy.ts'
import { earlierOutput, filesOf, machinesDir } from './layout.ts'

const mostBytes = 1024 * 1024
const blockBytes = 512

/** So often all are looked at, whatever the file system says: what somebody adds while others are removed does not show there. */
const everyNth = 30

/** By what it takes, too: blocks may be taken for what is beyond a file's end. False when it is not there. */
const cut = async (output: string): Promise<boolean> => {
  try {
    const { size, blocks } = await stat(output)
    if (Math.max(size, blocks * blockBytes) > mostBytes) await truncate(output)
    return true
  } catch (error) {
    // Removed meanwhile, or not started yet.
    if (errno(error) !== 'ENOENT') throw error
    return false
  }
}

const takenIn = async (directory: string): Promise<number> => {
  const { blocks, bfree, bsize } = await statfs(directory)
  return (blocks - bfree) * bsize
}

/**
 * Gives what empties every output that takes more than 1 MiB, when it is called each second: all are looked at when 1 MiB has been
 * added since they were the last time, and now and then, for a thousand files take as many calls. The daemons append, so that they
 * go on at the new end.
 */
export const outputTrimmer = (directory: string): (() => Promise<void>) => {
  let [least, turn] = [0, 0]
  return async () => {
    const taken = await takenIn(directory)
    least = Math.min(least, taken)
    if (turn++ % everyNth !== 0 && taken - least <= mostBytes) return
    for (const name of await readdir(directory)) await cut(join(directory, name))
    least = await takenIn(directory)
  }
}

/** The same of machines that run since a version before, which kept it on disk: they are those that are there the first time. */
export const earlierOutputTrimmer = (dataDir: string): (() => Promise<void>) => {
  let outputs: readonly string[] | undefined
  return async () => {
    outputs ??= (await children(machinesDir(dataDir)))?.map(id => earlierOutput(filesOf(dataDir, id)))
    // The data directory is gone: what it holds shows when it is back.
    if (!outputs) return
    const still: string[] = []
    for (const output of outputs) if (await cut(output)) still.push(output)
    outputs = still
  }
}

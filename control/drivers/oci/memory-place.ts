/** File systems in memory that an instance has below its volatile state: its own, so that it is bounded what of the box's memory they take. */
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errno } from '../../../shared/errors.ts'
import { run, tool } from './command.ts'

export interface MemoryPlace {
  /** For errors. */
  readonly step: string
  readonly directory: string
  /** At most, as tmpfs(5) has it. */
  readonly size: string
}

const isMounted = async (directory: string): Promise<boolean> => {
  try {
    return (await stat(directory)).dev !== (await stat(dirname(directory))).dev
  } catch (error) {
    if (errno(error) === 'ENOENT') return false
    throw error
  }
}

/** Makes it unless a server before this one has: machines that run have files of it. */
export const openMemory = async ({ step, directory, size }: MemoryPlace): Promise<void> => {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  if (await isMounted(directory)) return
  const options = `mode=700,size=${size},nr_inodes=0,nosuid,nodev,noexec`
  await run({ step, file: tool('mount'), args: ['-t', 'tmpfs', '-o', options, 'hutch', directory] })
}

/** When no machine has files of it any more, or all of them are ended. */
export const closeMemory = async ({ step, directory }: Pick<MemoryPlace, 'step' | 'directory'>): Promise<void> => {
  if (await isMounted(directory)) await run({ step, file: tool('umount'), args: ['--lazy', '--no-mtab', directory] })
}

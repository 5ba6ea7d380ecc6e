/** Where the files of views lie: a file system of the instance's own, so that the kernel can be told to ask before they are read. */
import { mkdir, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { errno } from '../../../../shared/errors.ts'
import { run, tool } from '../command.ts'
import type { Names } from '../names.ts'

const placeOf = ({ runDir }: Pick<Names, 'runDir'>): string => join(runDir, 'view')

const isMounted = async (directory: string): Promise<boolean> => {
  try {
    return (await stat(directory)).dev !== (await stat(dirname(directory))).dev
  } catch (error) {
    if (errno(error) === 'ENOENT') return false
    throw error
  }
}

/** Makes it unless a server before this one has: machines that run have files of it. */
export const openPlace = async (names: Names): Promise<string> => {
  const directory = placeOf(names)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  if (await isMounted(directory)) return directory
  // Some 30 KB a machine.
  const options = 'mode=700,size=1g,nr_inodes=0,nosuid,nodev,noexec'
  await run({ step: 'view', file: tool('mount'), args: ['-t', 'tmpfs', '-o', options, 'hutch', directory] })
  return directory
}

/** Ids of those that have files there. */
export const shownIn = (directory: string): Promise<string[]> => readdir(directory)

/** When no machine has files of it any more, or all of them are ended. */
export const removePlace = async (names: Names): Promise<void> => {
  const directory = placeOf(names)
  if (await isMounted(directory))
    await run({ step: 'view', file: tool('umount'), args: ['--lazy', '--no-mtab', directory] })
}

/**
 * What machines' daemons print. It is written by a descriptor of theirs, so that whoever has taken over a daemon, and on gVisor root of any sandbox
 * (by /proc/1/fd), may make the file as large as its file system in one call (fallocate(2)), and again each time it is emptied. On the data
 * directory's disk that would be the disk of the records and of everybody: so these files are in memory, in a file system of their own, what is in
 * it counts as memory of whom it is of, and when it is full daemons lose lines of their logs.
 */
import { readlink, rename, rm, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { errno } from '../../../shared/errors.ts'
import type { DriverDeps } from '../module.ts'
import { outputsDir } from './layout.ts'
import { closeMemory, openMemory, type MemoryPlace } from './memory-place.ts'
import type { Names } from './names.ts'
import { earlierOutputTrimmer, outputTrimmer } from './trim-outputs.ts'

const placeOf = ({ runDir }: Pick<Names, 'runDir'>): MemoryPlace => ({
  step: 'outputs',
  directory: join(runDir, 'outputs'),
  size: '64m',
})

const linkOf = (path: string): Promise<string | undefined> =>
  readlink(path).catch(error => {
    if (errno(error) === 'ENOENT') return undefined
    throw error
  })

/** When all machines are ended. */
export const closeOutputs = (names: Names): Promise<void> => closeMemory(placeOf(names))

/** Makes the place, and the way to it from the data directory; gives what ends the trimming. */
export const openOutputs = async (
  { names, dataDir }: { readonly names: Names; readonly dataDir: string },
  { clock, log }: Pick<DriverDeps, 'clock' | 'log'>,
): Promise<() => void> => {
  const place = placeOf(names)
  await openMemory(place)
  const link = outputsDir(dataDir)
  if ((await linkOf(link)) !== place.directory) {
    await rm(`${link}.new`, { force: true })
    await symlink(place.directory, `${link}.new`)
    await rename(`${link}.new`, link)
  }
  let isOver = false
  const untrimmed = (error: unknown): void => {
    // With the last machine the place goes, beside one that is under way.
    if (!isOver) log.warn('output.untrimmed', { error })
  }
  const every = (ms: number, trim: () => Promise<void>) => clock.every(ms, () => void trim().catch(untrimmed))
  const stops = [every(1_000, outputTrimmer(place.directory)), every(5_000, earlierOutputTrimmer(dataDir))]
  return () => {
    isOver = true
    for (const stop of stops) stop()
  }
}

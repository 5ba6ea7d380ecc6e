/** Where the files of views lie: a file system of the instance's own, so that the kernel can be told to ask before they are read. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { closeMemory, openMemory, type MemoryPlace } from '../memory-place.ts'
import type { Names } from '../names.ts'

/** Some 30 KB a machine. */
const placeOf = ({ runDir }: Pick<Names, 'runDir'>): MemoryPlace => ({
  step: 'view',
  directory: join(runDir, 'view'),
  size: '1g',
})

export const openPlace = async (names: Names): Promise<string> => {
  const place = placeOf(names)
  await openMemory(place)
  return place.directory
}

/** Ids of those that have files there. */
export const shownIn = (directory: string): Promise<string[]> => readdir(directory)

/** When no machine has files of it any more, or all of them are ended. */
export const removePlace = (names: Names): Promise<void> => closeMemory(placeOf(names))

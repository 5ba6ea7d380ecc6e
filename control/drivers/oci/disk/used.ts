/** What machines have written of the disk. */
import { statSync } from 'node:fs'
import type { Share } from '../../storage.ts'
import { filesOf } from '../layout.ts'
import { readMarker } from '../marker.ts'
import { pledgedFile } from '../volumes/files.ts'
import { countOf, projectOf } from './project-quota.ts'
import { bytesPerMb } from './shape.ts'

/** Bytes that a machine has written, or that are in a volume by its pledge: by what its disk's file takes of the box's disk, or by what the file system counts of it. */
export const usedBytes = (dataDir: string, id: string): number => {
  const volume = pledgedFile(dataDir, id)
  if (volume !== undefined) return (statSync(volume, { throwIfNoEntry: false })?.blocks ?? 0) * 512
  const { disk, upper } = filesOf(dataDir, id)
  // Known to the kernel: a promise of it takes the server ten times as long, and there may be a thousand.
  const facts = statSync(disk, { throwIfNoEntry: false })
  if (facts) return facts.blocks * 512
  const project = projectOf(upper)
  return project === 0 ? 0 : countOf(upper, project).bytes
}

/** Undefined for one that is gone, or that has no end. */
export const shareOf = async (dataDir: string, id: string): Promise<Share | undefined> => {
  const { disk } = (await readMarker(filesOf(dataDir, id).marker)) ?? {}
  return disk && { usedBytes: usedBytes(dataDir, id), mostBytes: disk.room * bytesPerMb }
}

/** The driver's `volumes`. */
import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { relative } from 'node:path'
import { errno, fail } from '../../../../shared/errors.ts'
import { keyedMutex } from '../../../../shared/sync.ts'
import type { Volumes } from '../../volumes.ts'
import type { Context } from '../context.ts'
import { carryOut, withScratch } from '../probe/check.ts'
import { fileQuota } from '../probe/disk.ts'
import { fileMb, pledgeOf, volumeFile, volumeOf, volumesDir } from './files.ts'
import { makeVolume } from './prepare.ts'

/** Whether the box mounts files: found out when it is first asked for, and remembered once it does. */
const createCheck = ({ dataDir, clock, overlay }: Pick<Context, 'dataDir' | 'clock' | 'overlay'>): Volumes['check'] => {
  let checked: Promise<void> | undefined
  const check = async (): Promise<void> => {
    const refuse = (reason: string) => fail('driver_failed', { driver: 'oci', step: 'volumes', reason })
    // A root that is a copy is made anew with each start, whatever is mounted in it.
    if (!overlay) throw refuse('the data directory carries no overlay; use ext4 or xfs')
    const found = await withScratch(dataDir, clock, undefined, probe => carryOut(fileQuota, probe))
    if (!found.ok) throw refuse(`${found.what} (${found.next ?? ''})`)
  }
  return () => {
    checked ??= check().catch((error: unknown) => {
      checked = undefined
      throw error
    })
    return checked
  }
}

const pledge = (id: string): string => pledgeOf({ id, ephemeral: false }, '')

/** Ids of all that have files in the data directory. */
export const volumesIn = async (dataDir: string): Promise<string[]> => {
  try {
    const names = await readdir(volumesDir(dataDir))
    // What a make that was killed has left is one, too: it goes with a volume that nobody knows.
    return [...new Set(names.flatMap(name => volumeOf(name.replace(/\.new$/, '')) ?? []))]
  } catch (error) {
    if (errno(error) === 'ENOENT') return []
    throw error
  }
}

export const ociVolumes = (context: Pick<Context, 'dataDir' | 'clock' | 'overlay' | 'disks'>): Volumes => {
  const { dataDir, disks } = context
  const alone = keyedMutex()
  return {
    check: createCheck(context),
    promise: (id, mb) => disks.pledges.promise(pledge(id), fileMb({ sizeMb: mb })),
    fill: (id, mb, from, signal) =>
      alone(id, async () => {
        const file = volumeFile(dataDir, id)
        if (existsSync(file)) return
        await disks.pledges.promise(pledge(id), fileMb({ sizeMb: mb }))
        await makeVolume(file, { mb: fileMb({ sizeMb: mb }), from, signal })
      }),
    remove: id =>
      alone(id, async () => {
        const file = volumeFile(dataDir, id)
        for (const path of [`${file}.new`, file]) await rm(path, { force: true })
        disks.pledges.forget(pledge(id))
      }),
    list: () => volumesIn(dataDir),
    filesOf(id) {
      const file = volumeFile(dataDir, id)
      return existsSync(file) ? [relative(dataDir, file)] : []
    },
  }
}

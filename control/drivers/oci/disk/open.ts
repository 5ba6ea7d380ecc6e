/** Whether machines of this instance have disks of their own, and what those that have one were promised. */
import { statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../../../shared/errors.ts'
import type { DriverConfig, DriverDeps } from '../../module.ts'
import type { Context } from '../context.ts'
import { filesOf, type MachineFiles } from '../layout.ts'
import { machineIds } from '../list.ts'
import { readMarker } from '../marker.ts'
import { carryOut, withScratch, type Check } from '../probe/check.ts'
import { fileQuota, projectQuota } from '../probe/disk.ts'
import { namesOf } from '../names.ts'
import { claimants } from '../registry.ts'
import { openBlanks } from './blanks.ts'
import { fileDisks } from './file-disk.ts'
import { fileInstead } from './from-project.ts'
import { isFile, type Disk, type DiskKind } from './kind.ts'
import { openNeighbours } from './neighbours.ts'
import { openPledges, type Pledges } from './pledges.ts'
import { isOfHere, projectDisks } from './project-disk.ts'
import { countsProjects } from './project-quota.ts'
import { bytesPerMb, promisedMb } from './shape.ts'
import { pledgedFile, pledgeOf } from '../volumes/files.ts'
import { volumesIn } from '../volumes/volumes.ts'

export interface Disks {
  /** What new machines get, if any. Those that have one keep it whatever is configured, and those that have none go on without. */
  readonly made: DiskKind | undefined
  of(disk: Disk): DiskKind
  /** What one with files from before is to have. */
  again(files: MachineFiles, disk: Disk): Disk
  readonly pledges: Pledges
}

/** What is promised to nobody: for records, images that are pulled, backups. */
const reserveOf = async (dataDir: string): Promise<number> => {
  const { blocks, bsize } = await statfs(dataDir)
  return Math.round(Math.min(1_024, Math.max(64, (blocks * bsize) / bytesPerMb / 10)))
}

const promisedTo = async (context: Pick<Context, 'dataDir' | 'hierarchy' | 'names'>): Promise<Map<string, number>> => {
  const promised = new Map<string, number>()
  /** Its file is as long as it may become. */
  const promiseVolume = (pledge: string): void => {
    const { size = 0 } = statSync(pledgedFile(context.dataDir, pledge) ?? '', { throwIfNoEntry: false }) ?? {}
    if (size > 0) promised.set(pledge, Math.ceil(size / bytesPerMb))
  }
  for (const id of await machineIds(context)) {
    const { disk, volumes = [] } = (await readMarker(filesOf(context.dataDir, id).marker)) ?? {}
    if (disk) promised.set(id, promisedMb(disk))
    for (const volume of volumes) if (volume.ephemeral) promiseVolume(pledgeOf(volume, id))
  }
  for (const id of await volumesIn(context.dataDir)) promiseVolume(pledgeOf({ id, ephemeral: false }, ''))
  return promised
}

type Place = Pick<Context, 'dataDir' | 'hierarchy' | 'names' | 'overlay'> & { readonly firstId: number | undefined }

/** How new machines are bounded, or why they are not and what to do. */
const choose = async ({ overlay, dataDir, firstId }: Place, { clock }: DriverDeps, files: DiskKind) => {
  if (!overlay)
    return { what: 'roots are whole copies, as the data directory carries no overlay', next: 'use ext4 or xfs' }
  const tried = (check: Check) => withScratch(dataDir, clock, undefined, probe => carryOut(check, probe))
  // Root of the box can leave such a quota.
  if (firstId !== undefined && (await tried(projectQuota)).ok) return projectDisks()
  const { ok, what, next } = await tried(fileQuota)
  return ok ? files : { what, next }
}

/** Throws where the operator insists on quotas and the box has none. */
export const openDisks = async (
  config: Pick<DriverConfig, 'diskQuota' | 'diskReserveMb'>,
  deps: DriverDeps,
  place: Place,
): Promise<Disks> => {
  const { diskQuota: mode = 'auto', diskReserveMb = 0 } = config
  const { dataDir, names } = place
  const files = fileDisks(openBlanks(join(names.runDir, 'blanks')))
  const chosen = mode === 'off' ? undefined : await choose(place, deps, files)
  const reason = chosen && 'what' in chosen ? chosen : undefined
  if (reason && mode === 'on')
    throw fail('driver_failed', {
      driver: 'oci',
      step: 'HUTCH_DISK_QUOTA=on',
      reason: `${reason.what} (${reason.next})`,
    })
  if (reason) deps.log.warn('disk.unlimited', { reason: reason.what, next: reason.next })
  const promised = await promisedTo(place)
  const reserveMb = diskReserveMb || (await reserveOf(dataDir))
  const neighbours = openNeighbours({ dataDir, tag: names.tag, runDirOf: tag => namesOf(tag).runDir, claimants })
  const made = chosen && 'plan' in chosen ? chosen : undefined
  const projects = made && made !== files ? made : projectDisks()
  const of = (disk: Disk) => (isFile(disk) ? files : projects)
  const hasProjects = countsProjects(dataDir)
  return {
    made,
    of,
    // Of a backup from a file system that has projects.
    again: (machine, disk) =>
      isFile(disk) || hasProjects || isOfHere(machine, disk) ? of(disk).again(machine, disk) : fileInstead(disk),
    pledges: openPledges({ dataDir, reserveMb, promised, neighbours }, deps.clock),
  }
}

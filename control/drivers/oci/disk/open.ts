/** Whether machines of this instance have disks of their own, and what those that have one were promised. */
import { statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { fail } from '../../../../shared/errors.ts'
import type { DriverConfig, DriverDeps } from '../../module.ts'
import type { Context } from '../context.ts'
import { filesOf } from '../layout.ts'
import { machineIds } from '../list.ts'
import { readMarker } from '../marker.ts'
import { carryOut, withScratch } from '../probe/check.ts'
import { diskQuota } from '../probe/disk.ts'
import { namesOf } from '../names.ts'
import { claimants } from '../registry.ts'
import { openBlanks, type Blanks } from './blanks.ts'
import { openNeighbours } from './neighbours.ts'
import { openPledges, type Pledges } from './pledges.ts'
import { bytesPerMb, promisedMb } from './shape.ts'

export interface Disks {
  /** New machines get one. Those that have one keep it whatever is configured, and those that have none go on without. */
  readonly areMade: boolean
  readonly blanks: Blanks
  readonly pledges: Pledges
}

/** What is promised to nobody: for records, images that are pulled, backups. */
const reserveOf = async (dataDir: string): Promise<number> => {
  const { blocks, bsize } = await statfs(dataDir)
  return Math.round(Math.min(1_024, Math.max(64, (blocks * bsize) / bytesPerMb / 10)))
}

const promisedTo = async (context: Pick<Context, 'dataDir' | 'hierarchy' | 'names'>): Promise<Map<string, number>> => {
  const promised = new Map<string, number>()
  for (const id of await machineIds(context)) {
    const disk = (await readMarker(filesOf(context.dataDir, id).marker))?.disk
    if (disk) promised.set(id, promisedMb(disk))
  }
  return promised
}

/** Why new machines have none, and what to do; undefined when they can. */
const whyNot = async ({ overlay, dataDir }: Pick<Context, 'overlay' | 'dataDir'>, { clock }: DriverDeps) => {
  if (!overlay)
    return { what: 'roots are whole copies, as the data directory carries no overlay', next: 'use ext4 or xfs' }
  const { ok, what, next } = await withScratch(dataDir, clock, undefined, probe => carryOut(diskQuota, probe))
  return ok ? undefined : { what, next }
}

/** Throws where the operator insists on quotas and the box has none. */
export const openDisks = async (
  config: Pick<DriverConfig, 'diskQuota' | 'diskReserveMb'>,
  deps: DriverDeps,
  context: Pick<Context, 'dataDir' | 'hierarchy' | 'names' | 'overlay'>,
): Promise<Disks> => {
  const { diskQuota: mode = 'auto', diskReserveMb = 0 } = config
  const { dataDir, names } = context
  const reason = mode === 'off' ? undefined : await whyNot(context, deps)
  if (reason && mode === 'on')
    throw fail('driver_failed', {
      driver: 'oci',
      step: 'HUTCH_DISK_QUOTA=on',
      reason: `${reason.what} (${reason.next})`,
    })
  if (reason) deps.log.warn('disk.unlimited', { reason: reason.what, next: reason.next })
  const promised = await promisedTo(context)
  const reserveMb = diskReserveMb || (await reserveOf(dataDir))
  const neighbours = openNeighbours({ dataDir, tag: names.tag, runDirOf: tag => namesOf(tag).runDir, claimants })
  return {
    areMade: mode !== 'off' && !reason,
    blanks: openBlanks(join(names.runDir, 'blanks')),
    pledges: openPledges({ dataDir, reserveMb, promised, neighbours }, deps.clock),
  }
}

/** The disk that a machine is to start with. */
import { fail } from '../../../../shared/errors.ts'
import type { MachineSpec } from '../../driver.ts'
import type { Context } from '../context.ts'
import { filesOf } from '../layout.ts'
import type { Marker } from '../marker.ts'
import { isFile, type Disk } from './kind.ts'
import { leastDiskMb, promisedMb } from './shape.ts'

type Spec = Pick<MachineSpec, 'id' | 'storageMb' | 'anonymous'>

type Place = Pick<Context, 'disks' | 'dataDir'>

const newDisk = ({ disks, dataDir }: Place, spec: Spec): Disk | undefined =>
  spec.storageMb === undefined
    ? undefined
    : disks.made?.plan(filesOf(dataDir, spec.id), spec, Math.max(leastDiskMb, spec.storageMb))

/** What it has it keeps; more it gets. */
const grown = (disk: Disk, { storageMb = 0 }: Pick<MachineSpec, 'storageMb'>): Disk => ({
  ...disk,
  mb: Math.max(disk.mb, storageMb),
  room: Math.max(disk.room, storageMb),
})

const oldDisk = ({ disks, dataDir }: Place, spec: Spec, disk: Disk): Disk =>
  disks.again(filesOf(dataDir, spec.id), grown(disk, spec))

/** Which disk it is to have, which it is promised with that; undefined for none. Throws `no_room`. */
export const planDisk = async (context: Place, spec: Spec, earlier: Marker | undefined): Promise<Disk | undefined> => {
  const disk = earlier ? earlier.disk && oldDisk(context, spec, earlier.disk) : newDisk(context, spec)
  if (disk) await context.disks.pledges.promise(spec.id, promisedMb(disk))
  return disk
}

/** Root of the box may give its files another number, and whoever is that inside as well. */
export const needOwnUsers = (disk: Disk | undefined, firstId: number | undefined): void => {
  if (!disk || isFile(disk) || firstId !== undefined) return
  const reason =
    'its files are bounded by a quota that root of the box can leave, which it would be; set HUTCH_USER_NAMESPACES=auto'
  throw fail('driver_failed', { driver: 'oci', step: 'quota', reason })
}

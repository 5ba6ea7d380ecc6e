/** The disk that a machine is to start with. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { MachineSpec } from '../../driver.ts'
import type { Context } from '../context.ts'
import type { MachineFiles } from '../layout.ts'
import type { Marker } from '../marker.ts'
import { claimableMb, leastDiskMb, promisedMb } from './shape.ts'
import { growDisk, tendDisk } from './tend.ts'

type Disk = NonNullable<Marker['disk']>

const newDisk = ({ storageMb, anonymous }: Pick<MachineSpec, 'storageMb' | 'anonymous'>): Disk | undefined => {
  if (storageMb === undefined) return undefined
  const room = Math.max(leastDiskMb, storageMb)
  return { mb: anonymous ? Math.max(claimableMb, room) : room, room }
}

/** What it has it keeps; more it gets. */
const grown = (disk: Disk, { storageMb = 0 }: Pick<MachineSpec, 'storageMb'>): Disk => ({
  mb: Math.max(disk.mb, storageMb),
  room: Math.max(disk.room, storageMb),
})

/** Which disk it is to have, which it is promised with that; undefined for none. Throws `no_room`. */
export const planDisk = async (
  { disks }: Pick<Context, 'disks'>,
  spec: Pick<MachineSpec, 'id' | 'storageMb' | 'anonymous'>,
  earlier: Marker | undefined,
): Promise<Disk | undefined> => {
  const disk = earlier ? earlier.disk && grown(earlier.disk, spec) : disks.areMade ? newDisk(spec) : undefined
  if (disk) await disks.pledges.promise(spec.id, promisedMb(disk))
  return disk
}

/** The host's files for its /etc, which its start puts there. */
const writeNames = ({ names }: MachineFiles, texts: Readonly<Record<string, string>>): void => {
  rmSync(names, { recursive: true, force: true })
  mkdirSync(names, { mode: 0o700 })
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(names, name), text, { mode: 0o600 })
}

interface Wanted {
  readonly files: MachineFiles
  readonly disk: Disk
  /** What it had before. */
  readonly earlier: Disk | undefined
  readonly etc: Readonly<Record<string, string>>
  readonly signal: AbortSignal | undefined
}

/** Resolves with the blank one that it is made of, if it is new. */
export const prepareDisk = async ({ disks }: Pick<Context, 'disks'>, wanted: Wanted): Promise<string | undefined> => {
  const { files, disk, earlier, etc, signal } = wanted
  writeNames(files, etc)
  if (!earlier) return disks.blanks.of(disk.mb)
  await (disk.mb > earlier.mb ? growDisk(files.disk, disk.mb, signal) : tendDisk(files.disk, signal))
  return undefined
}

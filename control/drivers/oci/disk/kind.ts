/** How what a machine writes has an end: on a disk of its own, or by a quota of the file system that all machines share. */
import type { MachineSpec } from '../../driver.ts'
import type { MachineFiles } from '../layout.ts'
import type { Marker } from '../marker.ts'
import type { RootInput } from '../rootfs.ts'

export type Disk = NonNullable<Marker['disk']>

export interface Wanted {
  readonly root: RootInput
  readonly disk: Disk
  /** What it had before. */
  readonly earlier: Disk | undefined
}

export interface DiskKind {
  /** How much one that is made for nobody may be promised when it is claimed, MB. */
  readonly claimableMb: number
  /** What a new machine is to have. */
  plan(files: MachineFiles, spec: Pick<MachineSpec, 'anonymous'>, roomMb: number): Disk
  /** The same for one with files from before, which may have come from another file system. */
  again(files: MachineFiles, disk: Disk): Disk
  /** Makes ready what the machine writes to; resolves with the blank disk that its start is to copy, if there is one. */
  prepare(wanted: Wanted): Promise<string | undefined>
  /** Changes what it may hold, of a machine that runs. */
  bound(files: MachineFiles, disk: Disk): void
  /** Everything that the tenant has written is in these, of which some may not be there. */
  kept(files: MachineFiles): readonly string[]
  /** Takes away what the tenant has written of a machine that has ended, and what the file system knows of it. */
  drop(files: MachineFiles, disk: Disk): Promise<void>
}

/** It is a file with a file system in it. */
export const isFile = (disk: Disk | undefined): disk is Disk => disk !== undefined && disk.project === undefined

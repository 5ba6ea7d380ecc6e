/** Sizes of machines' disks: files with an ext4 file system in them. */
import type { Marker } from '../marker.ts'

export const bytesPerMb = 1024 * 1024
const blockBytes = 4_096
const blocksPerMb = bytesPerMb / blockBytes

/** The smallest file system that has room for its journal and something besides. Whoever may fill no more of one is nobody. */
export const leastDiskMb = 16

/**
 * The disk of a machine that is made for nobody. Whoever gets it may write as much as was promised to them, which is bounded in the file
 * system; a file system that is mounted grows only where the host has CAP_SYS_RESOURCE, and never shrinks.
 */
export const claimableMb = 8_192

type Disk = NonNullable<Marker['disk']>

/** Inodes of a file system that is larger than what it may hold, which a tenant can use up all the same; journal, groups. */
export const tablesMb = (mb: number): number => Math.ceil(mb / 32) + 16

/** What of the box a disk can take at most, MB. */
export const promisedMb = ({ mb, room }: Disk): number =>
  room >= mb ? mb : Math.min(mb, room + (room > leastDiskMb ? tablesMb(mb) : 0))

/** What it may hold, in blocks; undefined when that is all of it. */
export const blocksOf = ({ mb, room }: Disk): number | undefined => (room >= mb ? undefined : room * blocksPerMb)

/**
 * Arguments of mkfs.ext4(8) for a blank one. A journal of the smallest size, whose tables and journal are not written before they are
 * used; an inode for 8 KiB, which trees of small packages need; nothing set aside for root, who is the tenant.
 * With a journal, and without fast commits: of 80 disks that lost their power, e2fsck 1.47.0 could not mend 34 that had fast commits, and 45 had
 * lost what was fsynced (https://github.com/tytso/e2fsprogs/issues/85; docs/benchmarks.md).
 */
export const mkfsArguments = (file: string): string[] => [
  '-qF',
  `-b${blockBytes}`,
  '-I256',
  '-i8192',
  '-m0',
  '-Jsize=4',
  '-Elazy_itable_init=1,lazy_journal_init=1,nodiscard,root_owner=0:0',
  file,
]

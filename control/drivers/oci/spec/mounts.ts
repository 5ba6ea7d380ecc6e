/** What a machine sees beside its root file system; what is of the host lies on the stage (`native/start-machine.c`). */
import { join } from 'node:path'
import { stageDir } from '../names.ts'
import type { ShownVolume } from '../volumes/files.ts'

export interface Mount {
  readonly destination: string
  readonly type: string
  readonly source: string
  readonly options: readonly string[]
}

/** Inside the bundle, which is read-only, so that no tenant can put anything else in its place. */
export const releasesMount = '/.hutch/releases'

const readOnly = ['bind', 'ro', 'nosuid', 'nodev']
const quiet = ['nosuid', 'noexec', 'nodev']

/** Where a machine that nests keeps layers of its own. */
const nestedStore = '/var/lib/containers'

/** Pseudo-terminals of one machine; the kernel has a number of them for all (`shared-limits.ts`). */
export const terminals = 1_024

export interface MountInput {
  readonly memoryMb: number
  /** Other bundles are shown, beside the machine's own. */
  readonly releases: boolean
  /** The machine has users of its own, so that no device node can be made in it. */
  readonly ownUsers: boolean
  readonly volumes?: readonly Pick<ShownVolume, 'mountPath' | 'readOnly'>[]
  /** The runtime would put memory over an empty /tmp, without end and gone with the next start. */
  readonly ownTmp?: boolean
  /** It has a directory that is on no overlay. */
  readonly nests?: boolean
}

/** By place on the stage, where each is without setuid and devices already. */
const volumeMount = ({ mountPath, readOnly }: Pick<ShownVolume, 'mountPath' | 'readOnly'>, place: number): Mount => ({
  destination: mountPath,
  type: 'bind',
  source: join(stageDir, 'volumes', String(place)),
  options: ['bind', ...(readOnly ? ['ro'] : []), 'nosuid', 'nodev'],
})

/** Counted as the machine's memory; half of it as on any Linux. */
export const sharedMemoryMb = (memoryMb: number): number => Math.max(64, Math.floor(memoryMb / 2))

/** `/dev` holds the standard nodes only, `/sys` and the control groups are read-only, `/.hutch` is the runtime bundle. */
export const mountsOf = ({
  memoryMb,
  releases,
  ownUsers,
  ownTmp = false,
  volumes = [],
  nests = false,
}: MountInput): Mount[] => [
  // First, so that none covers what follows.
  ...volumes.map(volumeMount),
  { destination: '/proc', type: 'proc', source: 'proc', options: quiet },
  { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'strictatime', 'mode=755', 'size=64k'] },
  {
    destination: '/dev/pts',
    type: 'devpts',
    source: 'devpts',
    options: ['nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620', 'gid=5', `max=${terminals}`],
  },
  {
    destination: '/dev/shm',
    type: 'tmpfs',
    source: 'shm',
    options: [...quiet, 'mode=1777', `size=${sharedMemoryMb(memoryMb)}m`],
  },
  { destination: '/dev/mqueue', type: 'mqueue', source: 'mqueue', options: quiet },
  { destination: '/sys', type: 'sysfs', source: 'sysfs', options: [...quiet, 'ro'] },
  { destination: '/sys/fs/cgroup', type: 'cgroup', source: 'cgroup', options: [...quiet, 'relatime', 'ro'] },
  { destination: '/.hutch', type: 'bind', source: join(stageDir, 'hutch'), options: readOnly },
  ...(releases
    ? [{ destination: releasesMount, type: 'bind', source: join(stageDir, 'releases'), options: readOnly }]
    : []),
  ...(ownTmp ? [{ destination: '/tmp', type: 'bind', source: join(stageDir, 'tmp'), options: ['bind'] }] : []),
  ...(nests
    ? [{ destination: nestedStore, type: 'bind', source: join(stageDir, 'store'), options: ['bind', 'nodev'] }]
    : []),
  ...(ownUsers
    ? [{ destination: '/dev/net/tun', type: 'bind', source: join(stageDir, 'dev/tun'), options: ['bind', 'nosuid'] }]
    : []),
]

/**
 * What tells of the box, of its memory and of what others do on it: beyond what container engines hide, the page flags
 * and counters that root may read, and the counters of interrupts, slabs and disks by which neighbours can be listened to.
 */
export const maskedPaths: readonly string[] = [
  '/proc/acpi',
  '/proc/asound',
  '/proc/cmdline',
  // Disks of sandboxes are devices of the box: who writes how much and when, and where the host keeps the files of whom.
  '/proc/diskstats',
  '/proc/fs',
  '/proc/interrupts',
  '/proc/iomem',
  '/proc/ioports',
  '/proc/kallsyms',
  '/proc/kcore',
  '/proc/key-users',
  '/proc/keys',
  '/proc/kmsg',
  '/proc/kpagecgroup',
  '/proc/kpagecount',
  '/proc/kpageflags',
  '/proc/latency_stats',
  // Locks of open files are no process's, so the kernel shows everybody those of the whole box: who has which file, and numbers of their choice.
  '/proc/locks',
  '/proc/mtrr',
  '/proc/pagetypeinfo',
  // Of the box's disks, and so of those of sandboxes: how many there are, and how large each may become.
  '/proc/partitions',
  '/proc/sched_debug',
  '/proc/scsi',
  '/proc/slabinfo',
  '/proc/softirqs',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/vmallocinfo',
  '/sys/devices/virtual/block',
  '/sys/devices/virtual/powercap',
  '/sys/firmware',
  '/sys/fs/ext4',
  // Where the kernel was linked to, and on some kernels its addresses.
  '/sys/kernel/notes',
]

const readonlyPaths: readonly string[] = [
  '/proc/bus',
  '/proc/irq',
  '/proc/sys',
  '/proc/sysrq-trigger',
  // The trees are mounted so; where there are several, what they lie in is not, whatever its options say.
  '/sys/fs/cgroup',
]

/** `trees` are those of control groups that the runtime shows anew, without their options, when it makes what they lie in read-only. */
export const readonlyPathsOf = (trees: readonly string[]): readonly string[] => [...readonlyPaths, ...trees]

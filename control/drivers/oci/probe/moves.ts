/** Probe of moves between control groups: where they cannot be kept quick, a server says so in its log alone (`cgroup.slow_moves`). */
import { readFile, writeFile } from 'node:fs/promises'
import { cgroupMounts, openHierarchy } from '../cgroup/hierarchy.ts'
import { ownList } from '../cgroup/quick-moves.ts'
import type { Check } from './check.ts'

/** `list` is the one of this process's own group. */
export const quickMoves = (
  list: () => Promise<string | undefined> = async () => ownList(await openHierarchy()),
): Check => ({
  required: false,
  title: 'quick moves between control groups',
  next:
    'mount them with favordynmods (Linux 6.0: mount -o remount,favordynmods /sys/fs/cgroup), or let the server write the ' +
    'cgroup.procs of its own group (not a read-only /sys/fs/cgroup); until then a start takes some 10 ms longer',
  async run() {
    const file = await list()
    const mounts = cgroupMounts(await readFile('/proc/self/mountinfo', 'utf8'))
    if (mounts.some(({ options }) => options.includes('favordynmods'))) return 'favordynmods'
    if (file === undefined) throw new Error('this process is in no group that could be found')
    await writeFile(file, '0')
    return ''
  },
})

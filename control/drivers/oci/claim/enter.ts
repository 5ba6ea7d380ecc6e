/** The driver's C addon (`enter-machine.c`): what is set inside of a machine from outside, without a process for it. */
import { open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import { fail } from '../../../../shared/errors.ts'
import { readControl, type Hierarchy } from '../cgroup/hierarchy.ts'
import { nativeAddon } from '../../../native-addon.ts'

interface Addon {
  enter(
    mounts: number,
    names: number,
    hostname: string,
    shmBytes: number,
    rootId: number,
    files: readonly string[],
  ): Promise<readonly [step: string, errno: number] | undefined>
}

const addon = nativeAddon<Addon>(join(import.meta.dirname, 'build/enter-machine.node'))

const failed = (reason: string) => fail('driver_failed', { driver: 'oci', step: 'claim', reason })

/** The only process of a machine that nobody has used; throws when there is none, or another one besides. */
const onlyProcess = async (hierarchy: Hierarchy, group: string): Promise<string> => {
  const directory = join(hierarchy.mountOf('freezer') ?? '/sys/fs/cgroup', group)
  const pid = (await readControl(join(directory, 'cgroup.procs'))) ?? ''
  if (!/^[1-9]\d*$/.test(pid)) throw failed('not one process runs in the machine, as in one that nobody has used')
  return pid
}

export interface Visit {
  readonly hostname: string
  readonly shmBytes: number
  /** The id of the box that root of the machine is; 0 where it has no users of its own. */
  readonly rootId: number
  /** Files of /etc by their names. */
  readonly etc: Readonly<Record<string, string>>
}

/** Sets all of it in the machine of that group. Throws `driver_failed` naming what could not be done. */
export const enterMachine = async (hierarchy: Hierarchy, group: string, visit: Visit): Promise<void> => {
  const pid = await onlyProcess(hierarchy, group)
  const namespaces: FileHandle[] = []
  try {
    for (const name of ['mnt', 'uts']) namespaces.push(await open(`/proc/${pid}/ns/${name}`))
    // The number may have been another process's when its namespaces were opened; that one is not in the group.
    if ((await onlyProcess(hierarchy, group)) !== pid) throw failed('its process ended')
    const [mounts, names] = namespaces.map(({ fd }) => fd) as [number, number]
    const { hostname, shmBytes, rootId, etc } = visit
    const failure = await addon().enter(mounts, names, hostname, shmBytes, rootId, Object.entries(etc).flat())
    if (failure) throw failed(`${failure[0]}: ${getSystemErrorMessage(-failure[1])}`)
  } finally {
    for (const namespace of namespaces) await namespace.close()
  }
}

/** The driver's C addon (`enter-machine.c`): what is set inside of a machine from outside, without a process for it. */
import { join } from 'node:path'
import { getSystemErrorMessage } from 'node:util'
import { fail } from '../../../../shared/errors.ts'
import { treeDir, type Hierarchy, type Setting } from '../cgroup/hierarchy.ts'
import { nativeAddon } from '../../../base/native-addon.ts'

interface Addon {
  enter(
    processes: string,
    hostname: string,
    shmBytes: number,
    rootId: number,
    etc: readonly string[],
    controls: readonly string[],
    note: readonly string[],
  ): Promise<readonly [step: string, errno: number] | undefined>
}

const addon = nativeAddon<Addon>(join(import.meta.dirname, 'build/enter-machine.node'))

export interface Visit {
  readonly hostname: string
  readonly shmBytes: number
  /** The id of the box that root of the machine is; 0 where it has no users of its own. */
  readonly rootId: number
  /** Files of /etc by their names. */
  readonly etc: Readonly<Record<string, string>>
  /** Written first, in their order. */
  readonly controls: readonly Setting[]
  /** A file of the host's, path and text, that is written on the way. */
  readonly note: readonly [path: string, text: string]
}

/**
 * Sets all of it in the machine of that group, in which its daemon is the only process. Throws `driver_failed` naming what could
 * not be done.
 */
export const enterMachine = async (hierarchy: Hierarchy, group: string, visit: Visit): Promise<void> => {
  const { hostname, shmBytes, rootId, etc, controls, note } = visit
  const processes = join(treeDir(hierarchy, group), 'cgroup.procs')
  const files = Object.entries(etc).flat()
  const failure = await addon().enter(processes, hostname, shmBytes, rootId, files, controls.flat(), note)
  if (failure)
    throw fail('driver_failed', {
      driver: 'oci',
      step: 'claim',
      reason: `${failure[0]}: ${getSystemErrorMessage(-failure[1])}`,
    })
}

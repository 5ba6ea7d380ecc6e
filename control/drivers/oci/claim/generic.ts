/**
 * Generic machines: those that were made ahead of need for any image. The root of one is empty but for the places of its mounts, and is read by its
 * daemon alone; when somebody claims it, it gets the root of that image (`recast-machine.c`).
 */
import { chmodSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fail } from '../../../../shared/errors.ts'
import { defaultLogDir } from '../../../../shared/log-dir.ts'
import { rootStep, type MachineSpec } from '../../driver.ts'
import { treeDir } from '../cgroup/hierarchy.ts'
import { toolEnvironment } from '../command.ts'
import { groupOf, type Context } from '../context.ts'
import { deviceOf } from '../disk/bound.ts'
import { isFile } from '../disk/kind.ts'
import type { MachineFiles } from '../layout.ts'
import type { Marker } from '../marker.ts'
import { netnsOf } from '../net/link.ts'
import { runProcess } from '../process/run-process.ts'
import { mountsOf } from '../spec/mounts.ts'

const genericRoot = (dataDir: string): string => join(dataDir, 'generic', 'rootfs')

/** By what it was made from. */
export const isGeneric = ({ dataDir }: Pick<Context, 'dataDir'>, rootfs: string | undefined): boolean =>
  rootfs === genericRoot(dataDir)

/**
 * Makes the root that all of them have; its path. `stage` and `next` are where the root that one gets is put together. A daemon wants its
 * directory of logs there, and makes it in the root that it gets when it needs it.
 */
export const openGenericRoot = (dataDir: string): string => {
  const root = genericRoot(dataDir)
  const above = dirname(root)
  mkdirSync(above, { recursive: true, mode: 0o700 })
  // One of a version before was for everybody to enter.
  chmodSync(above, 0o700)
  const points = mountsOf({ memoryMb: 0, releases: false, ownUsers: false }).map(({ destination }) => destination)
  for (const name of [...points, defaultLogDir, 'stage', 'next'])
    mkdirSync(join(root, name), { recursive: true, mode: 0o755 })
  return root
}

interface Recast {
  readonly files: MachineFiles
  readonly marker: Marker
  readonly spec: Pick<MachineSpec, 'id' | 'rootfs'>
}

const recastMs = 20_000

/**
 * Gives a generic machine, which runs or is frozen, the root of that image; what it is to write to is prepared, where that is no disk of
 * its own. Throws `driver_failed` saying what could not be done; the machine is only good to be removed then.
 */
export const recast = async (context: Context, { files, marker, spec }: Recast): Promise<void> => {
  const { hierarchy, names } = context
  const group = groupOf(names, spec.id)
  const { errno, code, signal, said } = await runProcess({
    file: join(import.meta.dirname, 'build', 'recast-machine'),
    args: [
      marker.firstId === undefined ? '-' : join('/run/netns', netnsOf(names, marker.slot)),
      spec.rootfs,
      files.dir,
      isFile(marker.disk) ? String(deviceOf(files).number) : '-',
      join(treeDir(hierarchy, group), 'cgroup.procs'),
    ],
    env: toolEnvironment,
    capture: true,
    session: false,
    signal: AbortSignal.timeout(recastMs),
  })
  if (errno === 0 && code === 0 && !signal) return
  const reason = said.trim() || signal || `its program could not be started (${errno})`
  throw fail('driver_failed', { driver: 'oci', step: rootStep, reason })
}

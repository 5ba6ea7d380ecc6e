/** The instance's own group, above those of its machines. */
import { mkdir, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errno, fail } from '../../../../shared/errors.ts'
import { command } from '../../../../shared/installation.ts'
import { groupDirs, readControl, type Hierarchy } from './hierarchy.ts'

/** A version-1 cpuset starts empty, and not every runtime fills in those above its own. */
export const prepareParent = async (hierarchy: Hierarchy, path: string): Promise<void> => {
  const mount = hierarchy.version === 1 ? hierarchy.mountOf('cpuset') : undefined
  if (mount === undefined) return
  const directory = join(mount, path)
  await mkdir(directory, { recursive: true })
  for (const name of ['cpuset.cpus', 'cpuset.mems']) {
    const all = await readControl(join(mount, name))
    if (all === undefined)
      throw fail('driver_failed', {
        driver: 'oci',
        step: 'cgroups',
        reason: `${mount}/${name} is missing; run ${command('doctor')}`,
      })
    await writeFile(join(directory, name), all)
  }
}

/** Removes the group where it is empty. */
export const removeParent = async (hierarchy: Hierarchy, path: string): Promise<void> => {
  for (const directory of await groupDirs(hierarchy, path))
    try {
      await rmdir(directory)
    } catch (error) {
      // Machines below keep it, and another closing may have been first.
      if (!['EBUSY', 'ENOTEMPTY', 'ENOENT'].includes(errno(error) ?? '')) throw error
    }
}

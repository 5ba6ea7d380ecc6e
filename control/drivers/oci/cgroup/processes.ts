/** The processes of a machine, by its control group: nothing a tenant does takes a process out of it. */
import { join } from 'node:path'
import { rmdir, writeFile } from 'node:fs/promises'
import type { Clock } from '../../../../shared/clock.ts'
import { errno, fail } from '../../../../shared/errors.ts'
import { endProcesses } from './end-processes.ts'
import { children, groupDirs, readControl, treeDir, type Hierarchy } from './hierarchy.ts'

const boundMs = 20_000

const subtree = async (directory: string): Promise<string[]> => {
  const below = await children(directory)
  if (!below) return []
  const deeper = await Promise.all(below.map(name => subtree(join(directory, name))))
  return [...deeper.flat(), directory]
}

/** Process ids in the group and everything below it. */
export const processesIn = async (hierarchy: Hierarchy, path: string): Promise<number[]> => {
  const pids = new Set<number>()
  for (const top of await groupDirs(hierarchy, path))
    for (const directory of await subtree(top)) {
      const text = await readControl(join(directory, 'cgroup.procs'))
      for (const line of text?.split('\n') ?? []) if (line) pids.add(Number(line))
    }
  // 0 stands for a process of another PID namespace, which cannot be ours.
  pids.delete(0)
  return [...pids]
}

/** Whether anything runs in the group. */
export const isPopulated = async (hierarchy: Hierarchy, path: string): Promise<boolean> => {
  const directory = treeDir(hierarchy, path)
  if (hierarchy.version === 2) return /^populated 1$/m.test((await readControl(join(directory, 'cgroup.events'))) ?? '')
  return ((await readControl(join(directory, 'cgroup.procs'))) ?? '') !== ''
}

const write = async (file: string, value: string): Promise<boolean> => {
  try {
    await writeFile(file, value)
    return true
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENODEV') return false
    throw error
  }
}

/** Ends every process of the group, frozen ones too, and waits until none is left. Throws `busy` when one will not die. */
export const killGroup = async (hierarchy: Hierarchy, path: string, clock: Clock): Promise<void> => {
  const freezer = hierarchy.version === 1 ? hierarchy.mountOf('freezer') : undefined
  const start = clock.elapsed()
  for (let wait = 1; ; wait = Math.min(wait * 2, 50)) {
    const pids = await processesIn(hierarchy, path)
    if (pids.length === 0) return
    if (clock.elapsed() - start > boundMs)
      throw fail('busy', {
        what: `processes ${pids.slice(0, 5).join(', ')} of group ${path} do not die`,
        next: 'they wait in the kernel (see /proc/PID/stack); removal is tried again',
      })
    if (hierarchy.version === 2 && (await write(join(hierarchy.mountOf('pids') as string, path, 'cgroup.kill'), '1'))) {
      // A frozen version-2 group dies without being thawed.
    } else {
      await endProcesses(pids, () => processesIn(hierarchy, path))
      if (freezer) await write(join(freezer, path, 'freezer.state'), 'THAWED')
    }
    await clock.sleep(wait)
  }
}

/** Removes the group's directories in every tree; waits while the kernel still finishes with dead processes. */
export const removeGroup = async (hierarchy: Hierarchy, path: string, clock: Clock): Promise<void> => {
  const start = clock.elapsed()
  for (const top of await groupDirs(hierarchy, path))
    for (const directory of await subtree(top))
      for (let wait = 1; ; wait = Math.min(wait * 2, 50)) {
        try {
          await rmdir(directory)
          break
        } catch (error) {
          if (errno(error) === 'ENOENT') break
          if (errno(error) !== 'EBUSY') throw error
          if (clock.elapsed() - start > boundMs)
            throw fail('busy', { what: `group ${directory} is still in use`, next: 'removal is tried again' })
          await clock.sleep(wait)
        }
      }
}

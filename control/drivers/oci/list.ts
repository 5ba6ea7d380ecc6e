/** Which machines exist: directories, control groups and runtime states, by the names of this instance. */
import { join } from 'node:path'
import type { Machine } from '../driver.ts'
import { children } from './cgroup/hierarchy.ts'
import type { Context } from './context.ts'
import { machinesDir } from './layout.ts'
import { lookAt } from './phase.ts'
import { runtimeNames } from './runtime.ts'

/** Ids of everything of which at least a part is there. */
export const machineIds = async (context: Pick<Context, 'dataDir' | 'hierarchy' | 'names'>): Promise<string[]> => {
  const places = [
    machinesDir(context.dataDir),
    ...runtimeNames.map(name => join(context.names.runDir, name)),
    ...context.hierarchy.mounts.map(mount => join(mount, context.names.cgroup)),
  ]
  const found = await Promise.all(places.map(children))
  return [...new Set(found.flatMap(names => names ?? []))].toSorted()
}

export const listMachines = async (context: Context, signal?: AbortSignal): Promise<Machine[]> => {
  const machines: Machine[] = []
  for (const id of await machineIds(context)) {
    signal?.throwIfAborted()
    machines.push(await lookAt(context, id))
  }
  return machines
}

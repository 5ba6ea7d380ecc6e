/** What a machine has used. */
import { join } from 'node:path'
import type { Stats } from '../../driver.ts'
import { readSums, type Hierarchy } from './hierarchy.ts'

const field = (text: string | undefined, name: string): number =>
  Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text ?? '')?.[1] ?? 0)

/** Undefined when the group is gone. Page cache that nobody uses any more does not count as used. */
export const groupStats = async (hierarchy: Hierarchy, path: string): Promise<Stats | undefined> => {
  const read = (controller: string, name: string) => {
    const mount = hierarchy.mountOf(controller)
    return mount === undefined ? Promise.resolve(undefined) : readSums(join(mount, path, name))
  }
  const two = hierarchy.version === 2
  const [usage, memory, cpu] = await Promise.all([
    read('memory', two ? 'memory.current' : 'memory.usage_in_bytes'),
    read('memory', 'memory.stat'),
    two ? read('cpu', 'cpu.stat') : read('cpuacct', 'cpuacct.usage'),
  ])
  if (usage === undefined || cpu === undefined) return undefined
  const idle = field(memory, two ? 'inactive_file' : 'total_inactive_file')
  return {
    memoryBytes: Math.max(0, Number(usage) - idle),
    cpuMs: two ? field(cpu, 'usage_usec') / 1_000 : Number(cpu) / 1_000_000,
  }
}

/** A machine's part of the disk's time when all want it: by its memory, as with the processors. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errno } from '../../../../shared/errors.ts'
import { readControl, type Hierarchy } from './hierarchy.ts'

/** 100 is what a group has that nobody has given a weight. */
const perCpu = 100

const within = (least: number, most: number, cpus: number): number =>
  Math.min(most, Math.max(least, Math.round(cpus * perCpu)))

/**
 * Where the kernel offers weights: version 2 always (with io.cost or the BFQ scheduler they count), version 1 with BFQ. Files and bounds:
 * Documentation/admin-guide/cgroup-v2.rst and block/bfq-iosched.rst of the kernel.
 */
const filesOf = ({ version }: Hierarchy, cpus: number): readonly (readonly [name: string, weight: number])[] =>
  version === 2
    ? [['io.weight', within(1, 10_000, cpus)]]
    : [
        ['blkio.bfq.weight', within(1, 1_000, cpus)],
        ['blkio.weight', within(10, 1_000, cpus)],
      ]

export const weighIo = async (hierarchy: Hierarchy, path: string, cpus: number): Promise<void> => {
  const mount = hierarchy.mountOf(hierarchy.version === 2 ? 'io' : 'blkio')
  if (mount === undefined) return
  for (const [name, weight] of filesOf(hierarchy, cpus)) {
    const file = join(mount, path, name)
    if ((await readControl(file)) === undefined) continue
    try {
      writeFileSync(file, String(weight))
    } catch (error) {
      // A disk whose scheduler knows no weights.
      if (!['EOPNOTSUPP', 'ENOTSUP', 'EINVAL'].includes(errno(error) ?? '')) throw error
    }
  }
}

/** Control groups of one tree, which may be a directory of files. */
import type { Hierarchy } from '../../control/drivers/oci/cgroup/hierarchy.ts'

export const oneTree = (tree: string, more: Partial<Hierarchy> = {}): Hierarchy => ({
  version: 2,
  mountOf: () => tree,
  mounts: [tree],
  beside: undefined,
  limitsSwap: false,
  limitsSockets: false,
  processors: 1,
  ...more,
})

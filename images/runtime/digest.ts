import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The first 32 hex digits of a SHA-256 over the names, kinds, modes and content of a tree, and over `facts` about it.
 * `leaveOut` names files that do not count.
 */
export const treeDigest = (root: string, facts: string, leaveOut: (path: string) => boolean): string => {
  const hash = createHash('sha256').update(facts)
  const visit = (path: string): void => {
    const full = join(root, path)
    for (const name of readdirSync(full).sort()) {
      const child = join(path, name)
      if (leaveOut(child)) continue
      const stat = lstatSync(join(root, child))
      if (stat.isDirectory()) {
        hash.update(`d ${child}\0`)
        visit(child)
      } else if (stat.isSymbolicLink()) hash.update(`l ${child}\0${readlinkSync(join(root, child))}\0`)
      else hash.update(`f ${child}\0${stat.mode & 0o777} ${stat.size}\0`).update(readFileSync(join(root, child)))
    }
  }
  visit('')
  return hash.digest('hex').slice(0, 32)
}

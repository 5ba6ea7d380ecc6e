/** What `make clean` says of instances on this box that no server looks after, and what it removes when it is told which. */
import { join } from 'node:path'
import { openHierarchy, children } from '../../control/drivers/oci/cgroup/hierarchy.ts'
import { namesOf } from '../../control/drivers/oci/names.ts'
import { claimants, type Claimant } from '../../control/drivers/oci/registry.ts'
import { inSweepTurn } from '../../control/drivers/oci/sweep-turn.ts'
import { sweepInstance } from '../../control/drivers/oci/sweep.ts'
import { isClaimed } from '../../control/base/one-host.ts'
import { systemClock } from '../../shared/clock.ts'
import { isThere } from '../../shared/is-there.ts'

/** Its data directory is not to be seen from here, and no server has it: it is over, or stopped in another container. */
const isUnattended = async ({ dataDir }: Claimant): Promise<boolean> =>
  !(await isThere(dataDir)) && !(await isClaimed(dataDir))

const machinesOf = async (tag: string): Promise<number> => {
  const { mounts } = await openHierarchy()
  const found = await Promise.all(mounts.map(mount => children(join(mount, namesOf(tag).cgroup))))
  return new Set(found.flatMap(ids => ids ?? [])).size
}

/** A line for each of them, with what removes it. */
export const unattended = async (): Promise<string[]> => {
  const lines: string[] = []
  for (const claim of await claimants())
    if (await isUnattended(claim)) {
      const { tag, dataDir } = claim
      lines.push(
        `instance ${tag} stays (${await machinesOf(tag)} sandboxes): no server runs on ${dataDir}, and it cannot be seen from here; if it is over: make clean INSTANCE=${tag}`,
      )
    }
  return lines
}

/** Ends the sandboxes of the instance and removes what it has on the box. Returns what came of it; throws when it is somebody's. */
export const removeInstance = async (tag: string): Promise<string> => {
  const claim = (await claimants()).find(one => one.tag === tag)
  if (!claim) throw new Error(`no instance ${tag} has claimed anything on this box`)
  if (!(await isUnattended(claim)))
    throw new Error(`instance ${tag} is that of ${claim.dataDir}, which is there or has a server`)
  const hierarchy = await openHierarchy()
  const done = await inSweepTurn(tag, () => sweepInstance(hierarchy, namesOf(tag), systemClock()))
  return done ? `instance ${tag} of ${claim.dataDir} is removed` : `instance ${tag} is being removed by another`
}

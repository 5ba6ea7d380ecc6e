/** Removes what instances have left behind that are proven to be over: their data directory and their process are gone, not only out of sight. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../shared/clock.ts'
import type { Log } from '../../../shared/log.ts'
import { children, type Hierarchy } from './cgroup/hierarchy.ts'
import { semaphore } from '../../../shared/sync.ts'
import { isClaimed } from '../../base/one-host.ts'
import { removeParent } from './cgroup/parent.ts'
import { killGroup, removeGroup } from './cgroup/processes.ts'
import { namesOf, type Names } from './names.ts'
import { releaseBlock } from './net/block.ts'
import { lowerFences } from './net/firewall.ts'
import { existingSlots, removeLinks, slotAt } from './net/link.ts'
import { removeProxyAddress } from './net/outbound.ts'
import { closeOutputs } from './outputs.ts'
import { claimants, type Claimant } from './registry.ts'
import { inSweepTurn } from './sweep-turn.ts'
import { releaseIds } from './users/ranges.ts'
import { removePlace } from './view/place.ts'
import { isProvenOver } from './whereabouts.ts'

/** A server in another mount namespace is seen by the claim of its data directory only, and while it is stopped not at all. */
const isOver = async (claimant: Claimant): Promise<boolean> =>
  (await isProvenOver(claimant)) && !(await isClaimed(claimant.dataDir))

/** So many at a time: ending a machine takes seconds when its processes do not obey. */
const sideBySide = 4

/** Ends the machines of an instance and removes every group of it. */
const removeGroups = async (hierarchy: Hierarchy, names: Names, clock: Clock): Promise<void> => {
  const found = await Promise.all(hierarchy.mounts.map(mount => children(join(mount, names.cgroup))))
  for (const id of new Set(found.flatMap(ids => ids ?? []))) {
    await killGroup(hierarchy, join(names.cgroup, id), clock)
    await removeGroup(hierarchy, join(names.cgroup, id), clock)
  }
  await removeParent(hierarchy, names.cgroup)
}

/** Network slots of the instance that no machine of `kept` holds. */
export const removeStraySlots = async (names: Names, kept: readonly number[]): Promise<void> => {
  const strays = (await existingSlots(names)).filter(index => !kept.includes(index))
  // Addresses and ids do not matter for removal.
  await removeLinks(strays.map(index => slotAt(names, { base: 0, prefix: 0 }, index, undefined)))
}

/** What an instance without machines has on the box, but for its groups and its data directory. */
export const removeTraces = async (names: Names): Promise<void> => {
  await removeStraySlots(names, [])
  await lowerFences(names)
  await removeProxyAddress(names)
  await removePlace(names)
  await closeOutputs(names)
  await rm(names.runDir, { recursive: true, force: true })
  await releaseBlock(names)
  await releaseIds(names)
}

/** Everything of one instance but its data directory. */
export const sweepInstance = async (hierarchy: Hierarchy, names: Names, clock: Clock): Promise<void> => {
  await removeGroups(hierarchy, names, clock)
  await removeTraces(names)
}

interface SweepDeps {
  readonly log: Log
  readonly clock: Clock
  /** No further instance is begun with when it is aborted. */
  readonly signal?: AbortSignal
}

const sweepOne = async (hierarchy: Hierarchy, claim: Claimant, { log, clock }: SweepDeps): Promise<void> => {
  const { tag, dataDir } = claim
  if (!(await isOver(claim))) return
  try {
    await inSweepTurn(tag, async () => {
      // It may have begun anew; if it does from now on, it waits.
      if (!(await isOver(claim))) return
      await sweepInstance(hierarchy, namesOf(tag), clock)
      log.info('instance.swept', { tag, dataDir })
    })
  } catch (error) {
    log.warn('instance.sweep.failed', { tag, dataDir, error })
  }
}

/** Sweeps after every instance that is proven to be over; one that cannot be swept is logged and left for the next time. */
export const sweepDead = async (hierarchy: Hierarchy, deps: SweepDeps): Promise<void> => {
  const turn = semaphore(sideBySide)
  const all = await claimants()
  await Promise.all(
    all.map(claim => turn(async () => deps.signal?.aborted || (await sweepOne(hierarchy, claim, deps)))),
  )
}

/** Addresses of this box that records leave from: each has one of those that were given to what it leaves by, and keeps it while it is there. */
import { createHash } from 'node:crypto'
import type { GivenAddress } from '../../core/transitions/rules.ts'

export interface Sources {
  /** The record gives that address, or none any more; whose addresses are others now. */
  give(uid: string, given: GivenAddress | undefined): readonly string[]
  /** The one that the record leaves from; undefined when nothing gives one. */
  of(leavesBy: string, uid: string): string | undefined
}

const weight = (address: string, uid: string): string => createHash('sha256').update(`${address} ${uid}`).digest('hex')

export const createSources = (): Sources => {
  const given = new Map<string, GivenAddress>()
  const byTarget = new Map<string, Set<string>>()
  const take = (uid: string): string[] => {
    const was = given.get(uid)
    if (!was) return []
    given.delete(uid)
    byTarget.get(was.to)?.delete(was.address)
    return [was.to]
  }
  return {
    give(uid, now) {
      const was = given.get(uid)
      if (was?.to === now?.to && was?.address === now?.address) return []
      const changed = take(uid)
      if (!now) return changed
      given.set(uid, now)
      byTarget.set(now.to, (byTarget.get(now.to) ?? new Set()).add(now.address))
      return [...new Set([...changed, now.to])]
    },
    of(leavesBy, uid) {
      // The heaviest: another address that comes or goes moves only those whose heaviest it is.
      const weighed = [...(byTarget.get(leavesBy) ?? [])].map(address => ({ address, weight: weight(address, uid) }))
      return weighed.toSorted((one, other) => (one.weight < other.weight ? 1 : -1))[0]?.address
    },
  }
}

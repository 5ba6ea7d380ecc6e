import type { Clock } from '../../../shared/clock.ts'

/** Trees that somebody has just asked for and may not have written down yet: they are not collected. */
export interface Leases {
  hold(digest: string): void
  isHeld(digest: string): boolean
}

/** Longer than a machine takes from its image to its record. */
const leaseMs = 600_000

export const createLeases = (clock: Clock): Leases => {
  const heldAt = new Map<string, number>()
  return {
    hold: digest => void heldAt.set(digest, clock.elapsed()),
    isHeld(digest) {
      const at = heldAt.get(digest)
      if (at !== undefined && clock.elapsed() - at < leaseMs) return true
      heldAt.delete(digest)
      return false
    },
  }
}

/** When pools are filled: making a machine takes what many claims would, so it waits until none has come for a while. */
import type { Clock } from '../../../../shared/clock.ts'

/** The next of several that come one after another is there by then. */
const quietMs = 150
/**
 * A pool with less than this share of its machines, and with fewer than so many, is filled beside the claims: who finds none waits
 * longer than for that. A dozen left of a hundred are no reason to slow those who take them.
 */
const [leastShare, leastLeft] = [1 / 8, 2]

export interface Pace {
  /** Somebody asks for a machine now. */
  asked(): void
  /** Until it is quiet, ms; 0 when it is. */
  leftMs(): number
  /** Whether a pool of that size that has so many ready, or under way to it, may be filled now. */
  mayFill(pool: { readonly size: number; readonly has: number }): boolean
}

export const createPace = (clock: Pick<Clock, 'elapsed'>): Pace => {
  let askedAt = -Infinity
  const leftMs = (): number => Math.max(0, askedAt + quietMs - clock.elapsed())
  return {
    asked() {
      askedAt = clock.elapsed()
    },
    leftMs,
    mayFill: ({ size, has }) => leftMs() === 0 || has < Math.min(size * leastShare, leastLeft),
  }
}

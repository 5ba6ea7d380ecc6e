/** What was asked for lately. */
import type { Clock } from '../../../../shared/clock.ts'

/** How long something counts as lately. */
const latelyMs = 300_000
/** More of one image are not counted. */
const kept = 1_000

export interface Demand {
  note(digest: string, count: number): void
  /** How often each image was asked for lately, by its digest, the most wanted first. */
  lately(): ReadonlyMap<string, number>
}

export const createDemand = (clock: Clock): Demand => {
  const times = new Map<string, number[]>()
  return {
    note(digest, count) {
      const now = clock.elapsed()
      times.set(digest, [...(times.get(digest) ?? []), ...Array<number>(count).fill(now)].slice(-kept))
    },
    lately() {
      const from = clock.elapsed() - latelyMs
      const counts: [string, number][] = []
      for (const [digest, all] of times) {
        const recent = all.filter(at => at >= from)
        if (recent.length > 0) counts.push([digest, recent.length])
        if (recent.length > 0) times.set(digest, recent)
        else times.delete(digest)
      }
      return new Map(counts.toSorted((one, other) => other[1] - one[1]))
    },
  }
}

/** Shares `most` machines among the images, the most wanted first. */
export const shareOf = (lately: ReadonlyMap<string, number>, most: number): ReadonlyMap<string, number> => {
  let left = most
  const shares = new Map<string, number>()
  for (const [digest, count] of lately) {
    const share = Math.min(count, left)
    left -= share
    if (share > 0) shares.set(digest, share)
  }
  return shares
}

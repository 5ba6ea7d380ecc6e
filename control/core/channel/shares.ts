/** What one client may have under way at one place: who takes none of what is sent keeps nobody out but themselves. */

export interface Shares {
  /** Takes one more of what may be had by that name, a client's at a place, waiting for one if there is none left; what comes back gives it up, once. */
  take(name: string): (() => void) | Promise<() => void>
}

/** At once of one client at one place; further ones wait for their turn. */
export const maxOfClient = 256

interface Share {
  taken: number
  readonly waiting: (() => void)[]
}

export const createShares = (): Shares => {
  const shares = new Map<string, Share>()
  const giver = (name: string, share: Share): (() => void) => {
    let isGiven = false
    return () => {
      if (isGiven) return
      isGiven = true
      const next = share.waiting.shift()
      // It passes from hand to hand: nobody who comes between is before those that wait.
      if (next) next()
      else if (--share.taken === 0) shares.delete(name)
    }
  }
  return {
    take(name) {
      let share = shares.get(name)
      if (!share) {
        share = { taken: 0, waiting: [] }
        shares.set(name, share)
      }
      const give = giver(name, share)
      if (share.taken < maxOfClient) {
        share.taken++
        return give
      }
      const { waiting } = share
      return new Promise(resolve => waiting.push(() => resolve(give)))
    },
  }
}

/** So many at once, so many a second from then on. */
export interface Rate {
  /** Takes one, or so many at once, if they are there. */
  take(count?: number): boolean
}

export const createRate = (deps: { now: () => number }, burst: number, perSecond: number): Rate => {
  let left = burst
  let at = deps.now()
  return {
    take(count = 1) {
      const now = deps.now()
      left = Math.min(burst, left + ((now - at) / 1000) * perSecond)
      at = now
      if (left < count) return false
      left -= count
      return true
    },
  }
}

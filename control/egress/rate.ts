/** So many at once, so many a second from then on. */
export interface Rate {
  take(): boolean
}

export const createRate = (deps: { now: () => number }, burst: number, perSecond: number): Rate => {
  let left = burst
  let at = deps.now()
  return {
    take() {
      const now = deps.now()
      left = Math.min(burst, left + ((now - at) / 1000) * perSecond)
      at = now
      if (left < 1) return false
      left--
      return true
    },
  }
}

import type { Clock } from '../../shared/clock.ts'

/** One timer per period for all listeners; none while there are no listeners. */
export interface Heartbeat {
  /** Calls `beat` every `ms` until the returned function is called. */
  every(ms: number, beat: () => void): () => void
}

export const createHeartbeat = (clock: Clock): Heartbeat => {
  const periods = new Map<number, { listeners: Set<() => void>; stop: () => void }>()
  return {
    every(ms, beat) {
      const period = periods.get(ms) ?? {
        listeners: new Set(),
        stop: clock.every(ms, () => {
          for (const listener of periods.get(ms)?.listeners ?? []) listener()
        }),
      }
      periods.set(ms, period)
      period.listeners.add(beat)
      return () => {
        period.listeners.delete(beat)
        if (period.listeners.size > 0 || periods.get(ms) !== period) return
        period.stop()
        periods.delete(ms)
      }
    },
  }
}

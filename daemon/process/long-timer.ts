import type { Clock } from '../../shared/clock.ts'

const maxTimerMs = 2 ** 31 - 1

/** Like `clock.after`, also for times beyond what a timer can hold. */
export const setLongTimer = (clock: Clock, ms: number, run: () => void): (() => void) => {
  let cancel: () => void
  const arm = (left: number): void => {
    cancel = clock.after(Math.min(left, maxTimerMs), left > maxTimerMs ? () => arm(left - maxTimerMs) : run)
  }
  arm(Math.max(0, ms))
  return () => cancel()
}

import type { Clock } from '../../shared/clock.ts'

/** A clock that stands still until told. Passes the same suite as the real one. */
export interface FakeClock extends Clock {
  /** Moves time on by `ms`, running what falls due in order; lets promises settle in between. */
  tick(ms: number): Promise<void>
  /** Moves time on by `ms` at once, as after a box has slept: what fell due meanwhile runs once. Days cost no more than a second. */
  jump(ms: number): Promise<void>
}

interface Timer {
  at: number
  readonly every: number | undefined
  readonly run: () => void
}

const settle = () => new Promise<void>(resolve => setImmediate(resolve))

export const fakeClock = (start = Date.UTC(2026, 0, 1)): FakeClock => {
  let now = start
  const timers = new Set<Timer>()
  const add = (ms: number, every: number | undefined, run: () => void) => {
    const timer: Timer = { at: now + ms, every, run }
    timers.add(timer)
    return () => void timers.delete(timer)
  }
  const nextDue = (until: number): Timer | undefined =>
    [...timers].filter(timer => timer.at <= until).sort((a, b) => a.at - b.at)[0]
  return {
    now: () => now,
    elapsed: () => now - start,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason as Error)
        const cancel = add(ms, undefined, () => resolve())
        signal?.addEventListener('abort', () => {
          cancel()
          reject(signal.reason as Error)
        })
      }),
    every: (ms, run) => add(ms, ms, run),
    after: (ms, run) => add(ms, undefined, run),
    async tick(ms) {
      const until = now + ms
      await settle()
      for (let due = nextDue(until); due; due = nextDue(until)) {
        now = Math.max(now, due.at)
        if (due.every === undefined) timers.delete(due)
        else due.at += due.every
        due.run()
        await settle()
      }
      now = until
      await settle()
    },
    async jump(ms) {
      await settle()
      now += ms
      for (const due of [...timers].filter(timer => timer.at <= now).sort((a, b) => a.at - b.at)) {
        if (due.every === undefined) timers.delete(due)
        else due.at = now + due.every
        due.run()
        await settle()
      }
    },
  }
}

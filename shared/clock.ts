import { setTimeout as delay } from 'node:timers/promises'

/** Time, passed in. The only callers of Date.now and timers outside tests. */
export interface Clock {
  /** Epoch milliseconds. */
  now(): number
  /** Monotonic milliseconds, for durations. */
  elapsed(): number
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
  /** Calls `run` every `ms` until the returned function is called. Does not keep the process alive. */
  every(ms: number, run: () => void): () => void
  /** Calls `run` once after `ms` unless the returned function is called first. Does not keep the process alive. */
  after(ms: number, run: () => void): () => void
}

export const systemClock = (): Clock => ({
  now: () => Date.now(),
  // Not `performance`: touching it loads a dozen of Node's modules.
  elapsed() {
    const [seconds, nanoseconds] = process.hrtime()
    return seconds * 1_000 + nanoseconds / 1e6
  },
  sleep: (ms, signal) => delay(ms, undefined, signal ? { signal } : undefined),
  every(ms, run) {
    const timer = setInterval(run, ms).unref()
    return () => clearInterval(timer)
  },
  after(ms, run) {
    const timer = setTimeout(run, ms).unref()
    return () => clearTimeout(timer)
  },
})

/**
 * Level-triggered reconciliation: a key is poked, `reconcile(key)` looks at the world and takes a step. It does not
 * matter who poked or how often: pokes of a key that runs or waits fall together, one run per key at a time,
 * `concurrency` runs in all, failures back off. The same code serves a new record, a restart after a crash, and
 * somebody having removed the machine by hand.
 */
import type { Clock } from '../../shared/clock.ts'
import { isError, messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'

/** Look again after so many ms; nothing means not until poked. */
export interface Outcome {
  readonly againMs?: number
}

export type Reconcile = (key: string, signal: AbortSignal) => Promise<Outcome | undefined>

export interface Loop {
  /** Look at this key now; shortens a wait but not a back-off. */
  poke(key: string): void
  /** Keys that run or wait to run. */
  readonly busy: number
  /** Stops: waits for the runs that are under way, starts no more. */
  close(): Promise<void>
}

interface Entry {
  running: boolean
  /** Poked while running: run again. */
  dirty: boolean
  failures: number
  /** Cancels the pending timer, if any. */
  cancel: (() => void) | undefined
  backingOff: boolean
  queued: boolean
}

const firstBackoffMs = 100
const lastBackoffMs = 30_000

export const reconcileLoop = (
  reconcile: Reconcile,
  options: { name: string; concurrency: number },
  deps: { clock: Clock; log: Log },
): Loop => {
  const { clock, log } = deps
  const entries = new Map<string, Entry>()
  const ready: string[] = []
  const stop = new AbortController()
  const runs = new Set<Promise<void>>()

  const enqueue = (key: string, entry: Entry) => {
    if (entry.running || entry.queued) {
      entry.dirty ||= entry.running
      return
    }
    entry.cancel?.()
    entry.cancel = undefined
    entry.backingOff = false
    entry.queued = true
    ready.push(key)
    start()
  }

  const later = (key: string, entry: Entry, ms: number) => {
    entry.cancel?.()
    entry.cancel = clock.after(ms, () => {
      entry.cancel = undefined
      entry.backingOff = false
      enqueue(key, entry)
    })
  }

  const settle = (key: string, entry: Entry, outcome: Outcome | undefined) => {
    entry.failures = 0
    if (entry.dirty) {
      entry.dirty = false
      enqueue(key, entry)
    } else if (outcome?.againMs !== undefined) later(key, entry, outcome.againMs)
    else entries.delete(key)
  }

  const failed = (key: string, entry: Entry, error: unknown) => {
    entry.dirty = false
    entry.failures++
    const ms = Math.min(lastBackoffMs, firstBackoffMs * 2 ** (entry.failures - 1))
    const level = isError(error) && error.retry ? 'info' : 'error'
    log[level]('reconcile.failed', {
      loop: options.name,
      key,
      failures: entry.failures,
      againMs: ms,
      reason: messageOf(error),
      error,
    })
    entry.backingOff = true
    later(key, entry, ms)
  }

  const runOne = async (key: string, entry: Entry) => {
    try {
      const outcome = await reconcile(key, stop.signal)
      entry.running = false
      if (!stop.signal.aborted) settle(key, entry, outcome)
    } catch (error) {
      entry.running = false
      if (!stop.signal.aborted) failed(key, entry, error)
    }
  }

  const start = () => {
    while (runs.size < options.concurrency && ready.length > 0 && !stop.signal.aborted) {
      const key = ready.shift() as string
      const entry = entries.get(key) as Entry
      entry.queued = false
      entry.running = true
      const run = runOne(key, entry).finally(() => {
        runs.delete(run)
        start()
      })
      runs.add(run)
    }
  }

  return {
    poke(key) {
      if (stop.signal.aborted) return
      let entry = entries.get(key)
      if (!entry) {
        entry = { running: false, dirty: false, failures: 0, cancel: undefined, backingOff: false, queued: false }
        entries.set(key, entry)
      }
      if (!entry.backingOff) enqueue(key, entry)
    },
    get busy() {
      return runs.size + ready.length
    },
    async close() {
      stop.abort()
      for (const entry of entries.values()) entry.cancel?.()
      await Promise.all(runs)
    },
  }
}

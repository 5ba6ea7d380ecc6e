/**
 * Level-triggered reconciliation: a key is poked, `reconcile(key)` looks at the world and takes a step. It does not
 * matter who poked or how often: pokes of a key that runs or waits fall together, one run per key at a time,
 * `concurrency` runs in all that have not left their place, failures back off. The same code serves a new record, a restart after a crash, and
 * somebody having removed the machine by hand.
 */
import type { Clock } from '../../../shared/clock.ts'
import { isError, messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'

/** Look again after so many ms; nothing means not until poked. */
export interface Outcome {
  readonly againMs?: number
}

/** `leave` gives up the run's place: it goes on, and does not count any more. For what waits for somebody who may never answer. */
export type Reconcile = (key: string, signal: AbortSignal, leave: () => void) => Promise<Outcome | undefined>

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

interface Context {
  readonly reconcile: Reconcile
  readonly name: string
  readonly concurrency: number
  readonly clock: Clock
  readonly log: Log
  readonly entries: Map<string, Entry>
  readonly ready: string[]
  readonly runs: Set<Promise<void>>
  /** Runs that have not left their place. */
  placed: number
  readonly stop: AbortController
}

const enqueue = (context: Context, key: string, entry: Entry): void => {
  if (entry.running || entry.queued) {
    entry.dirty ||= entry.running
    return
  }
  entry.cancel?.()
  entry.cancel = undefined
  entry.backingOff = false
  entry.queued = true
  context.ready.push(key)
  start(context)
}

const later = (context: Context, key: string, entry: Entry, ms: number): void => {
  entry.cancel?.()
  entry.cancel = context.clock.after(ms, () => {
    entry.cancel = undefined
    entry.backingOff = false
    enqueue(context, key, entry)
  })
}

const settle = (context: Context, key: string, entry: Entry, outcome: Outcome | undefined): void => {
  entry.failures = 0
  if (entry.dirty) {
    entry.dirty = false
    enqueue(context, key, entry)
  } else if (outcome?.againMs !== undefined) later(context, key, entry, outcome.againMs)
  else context.entries.delete(key)
}

const failed = (context: Context, key: string, entry: Entry, error: unknown): void => {
  entry.dirty = false
  entry.failures++
  const againMs = Math.min(lastBackoffMs, firstBackoffMs * 2 ** (entry.failures - 1))
  const level = isError(error) && error.retry ? 'info' : 'error'
  const { failures } = entry
  context.log[level]('reconcile.failed', {
    loop: context.name,
    key,
    failures,
    againMs,
    reason: messageOf(error),
    error,
  })
  entry.backingOff = true
  later(context, key, entry, againMs)
}

const run = async (context: Context, key: string, entry: Entry, leave: () => void): Promise<void> => {
  const { signal } = context.stop
  try {
    const outcome = await context.reconcile(key, signal, leave)
    entry.running = false
    if (!signal.aborted) settle(context, key, entry, outcome)
  } catch (error) {
    entry.running = false
    if (!signal.aborted) failed(context, key, entry, error)
  }
}

const start = (context: Context): void => {
  const { entries, ready, runs, concurrency, stop } = context
  while (context.placed < concurrency && ready.length > 0 && !stop.signal.aborted) {
    const key = ready.shift() as string
    const entry = entries.get(key) as Entry
    entry.queued = false
    entry.running = true
    let isPlaced = true
    context.placed++
    const leave = () => {
      if (!isPlaced) return
      isPlaced = false
      context.placed--
      start(context)
    }
    const one = run(context, key, entry, leave).finally(() => {
      runs.delete(one)
      leave()
    })
    runs.add(one)
  }
}

const poke = (context: Context, key: string): void => {
  const { entries, stop } = context
  if (stop.signal.aborted) return
  let entry = entries.get(key)
  if (!entry) {
    entry = { running: false, dirty: false, failures: 0, cancel: undefined, backingOff: false, queued: false }
    entries.set(key, entry)
  }
  if (!entry.backingOff) enqueue(context, key, entry)
}

export const reconcileLoop = (
  reconcile: Reconcile,
  options: { name: string; concurrency: number },
  deps: { clock: Clock; log: Log },
): Loop => {
  const { clock, log } = deps
  const stop = new AbortController()
  const context: Context = {
    ...options,
    reconcile,
    clock,
    log,
    entries: new Map(),
    ready: [],
    runs: new Set(),
    placed: 0,
    stop,
  }
  const { entries, ready, runs } = context
  return {
    poke: key => poke(context, key),
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

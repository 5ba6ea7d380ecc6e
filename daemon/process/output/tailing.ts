import { watch, type FSWatcher } from 'node:fs'
import type { Clock } from '../../../shared/clock.ts'
import { errno } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { Capture } from './capture.ts'

/** Between two polls while output flows. */
const activePollMs = 4
/** After so long without output a capture waits for the kernel to report a change. */
const idleAfterMs = 150
/** Polls everything, in case a report was lost, and where files cannot be watched. */
const sweepMs = 1_000

export interface Tailing {
  /** Follows a capture until `remove`; it begins as an active one. */
  add(capture: Capture, paths: readonly string[]): void
  remove(capture: Capture): void
  close(): void
}

interface TailingDeps {
  readonly clock: Clock
  readonly log: Log
  /** Called after each growth. */
  readonly grew: (capture: Capture) => void
}

interface Followed {
  readonly capture: Capture
  readonly paths: readonly string[]
  quietSince: number
  failing: boolean
  watchers: FSWatcher[]
}

interface TailingContext extends TailingDeps {
  readonly all: Map<Capture, Followed>
  /** Those that are polled every few milliseconds. */
  readonly active: Set<Followed>
  cancelRound: (() => void) | undefined
  canWatch: boolean
}

const unwatch = (followed: Followed): void => {
  for (const watcher of followed.watchers) watcher.close()
  followed.watchers = []
}

/** Captures what is new; true when there was something. */
const poll = ({ grew, log }: TailingContext, followed: Followed): boolean => {
  try {
    // A flood is cut before it is captured: the next poll comes as soon as this one is short.
    if (followed.capture.behind) grew(followed.capture)
    const grown = followed.capture.poll()
    if (grown) grew(followed.capture)
    followed.failing = false
    return grown
  } catch (error) {
    // Logged once: a full disk stays full for many polls.
    if (!followed.failing) log.error('process.capture', { error })
    followed.failing = true
    return false
  }
}

const activate = (context: TailingContext, followed: Followed): void => {
  if (!context.all.has(followed.capture)) return
  unwatch(followed)
  followed.quietSince = context.clock.elapsed()
  context.active.add(followed)
  context.cancelRound ??= context.clock.after(0, () => round(context))
}

/** Waits for the kernel to report a change instead of polling. */
const deactivate = (context: TailingContext, followed: Followed): void => {
  context.active.delete(followed)
  if (!context.canWatch) return
  try {
    followed.watchers = followed.paths.map(path =>
      watch(path, { persistent: false }, () => activate(context, followed)).on('error', () => unwatch(followed)),
    )
  } catch (error) {
    unwatch(followed)
    // ENOENT: the tenant removed its log file. Any other error: watches have run out, and the sweep has to do.
    if (errno(error) !== 'ENOENT') {
      context.canWatch = false
      context.log.warn('process.watch', { error })
    }
  }
  // Output may have come between the last poll and the watch.
  if (poll(context, followed)) activate(context, followed)
}

const round = (context: TailingContext): void => {
  const { clock, active } = context
  const started = clock.elapsed()
  for (const followed of active) {
    if (poll(context, followed)) followed.quietSince = started
    else if (started - followed.quietSince > idleAfterMs) deactivate(context, followed)
  }
  // Never more than half of the time, however many there are.
  const pause = Math.max(activePollMs, clock.elapsed() - started)
  context.cancelRound = active.size > 0 ? clock.after(pause, () => round(context)) : undefined
}

const sweep = (context: TailingContext): void => {
  for (const followed of context.all.values())
    if (!context.active.has(followed) && poll(context, followed)) activate(context, followed)
}

/** Captures the output of all running processes: every few milliseconds while it flows, else when the kernel reports a change. */
export const createTailing = (deps: TailingDeps): Tailing => {
  const context: TailingContext = {
    ...deps,
    all: new Map(),
    active: new Set(),
    cancelRound: undefined,
    canWatch: true,
  }
  const { all, active, clock } = context
  const stopSweep = clock.every(sweepMs, () => sweep(context))
  return {
    add(capture, paths) {
      const followed: Followed = { capture, paths, quietSince: clock.elapsed(), failing: false, watchers: [] }
      all.set(capture, followed)
      active.add(followed)
      context.cancelRound ??= clock.after(activePollMs, () => round(context))
    },
    remove(capture) {
      const followed = all.get(capture)
      if (!followed) return
      all.delete(capture)
      active.delete(followed)
      unwatch(followed)
    },
    close() {
      stopSweep()
      context.cancelRound?.()
      context.cancelRound = undefined
      for (const followed of all.values()) unwatch(followed)
      all.clear()
      active.clear()
    },
  }
}

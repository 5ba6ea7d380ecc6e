import { watch, type FSWatcher } from 'node:fs'
import type { Clock } from '../../../shared/clock.ts'
import { errno } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { Capture } from './capture.ts'

/** Between two looks while output flows. */
const hotMs = 4
/** Without output for so long, a capture is woken by the kernel instead. */
const coolAfterMs = 150
/** Looks at everything, in case a wake-up was lost, and where watching is impossible. */
const sweepMs = 1_000

export interface Tailing {
  /** Follows a capture until `remove`; it starts being looked at closely. */
  add(capture: Capture, paths: readonly string[]): void
  remove(capture: Capture): void
  close(): void
}

interface Followed {
  readonly capture: Capture
  readonly paths: readonly string[]
  quietSince: number
  failing: boolean
  watchers: FSWatcher[]
}

/**
 * Looks at the output of all running processes: every few milliseconds while it flows, else when the kernel says that a
 * file has changed. `grew` is called after each growth.
 */
export const createTailing = (deps: { clock: Clock; log: Log; grew: (capture: Capture) => void }): Tailing => {
  const { clock, log, grew } = deps
  const all = new Map<Capture, Followed>()
  const hot = new Set<Followed>()
  let stopRound: (() => void) | undefined
  let canWatch = true

  const unwatch = (followed: Followed): void => {
    for (const watcher of followed.watchers) watcher.close()
    followed.watchers = []
  }
  const warm = (followed: Followed): void => {
    if (!all.has(followed.capture)) return
    unwatch(followed)
    followed.quietSince = clock.elapsed()
    hot.add(followed)
    stopRound ??= clock.after(0, round)
  }
  const cool = (followed: Followed): void => {
    hot.delete(followed)
    if (!canWatch) return
    try {
      followed.watchers = followed.paths.map(path =>
        watch(path, { persistent: false }, () => warm(followed)).on('error', () => unwatch(followed)),
      )
    } catch (error) {
      unwatch(followed)
      // ENOENT: the tenant removed its log file. Otherwise watches have run out: the sweep sees everything, only later.
      if (errno(error) !== 'ENOENT') {
        canWatch = false
        log.warn('process.watch', { error })
      }
    }
    // Between the last look and the watch something may have come.
    if (look(followed)) warm(followed)
  }
  const look = (followed: Followed): boolean => {
    try {
      // A flood is cut before it is looked at: the next look is only as soon as this one is short.
      if (followed.capture.behind) grew(followed.capture)
      const grown = followed.capture.poll()
      if (grown) grew(followed.capture)
      followed.failing = false
      return grown
    } catch (error) {
      // Told once: a full disk stays full for many looks.
      if (!followed.failing) log.error('process.capture', { error })
      followed.failing = true
      return false
    }
  }
  function round(): void {
    const started = clock.elapsed()
    for (const followed of hot) {
      if (look(followed)) followed.quietSince = started
      else if (started - followed.quietSince > coolAfterMs) cool(followed)
    }
    // Never more than half of the time, however many there are.
    const pause = Math.max(hotMs, clock.elapsed() - started)
    stopRound = hot.size > 0 ? clock.after(pause, round) : undefined
  }
  const stopSweep = clock.every(sweepMs, () => {
    for (const followed of all.values()) if (!hot.has(followed) && look(followed)) warm(followed)
  })

  return {
    add(capture, paths) {
      const followed: Followed = { capture, paths, quietSince: clock.elapsed(), failing: false, watchers: [] }
      all.set(capture, followed)
      hot.add(followed)
      stopRound ??= clock.after(hotMs, round)
    },
    remove(capture) {
      const followed = all.get(capture)
      if (!followed) return
      all.delete(capture)
      hot.delete(followed)
      unwatch(followed)
    },
    close() {
      stopSweep()
      stopRound?.()
      stopRound = undefined
      for (const followed of all.values()) unwatch(followed)
      all.clear()
      hot.clear()
    },
  }
}

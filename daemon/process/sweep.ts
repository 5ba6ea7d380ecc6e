/** Keeps what processes have written within the budget of the disk, and the list within its length. */
import { fileShare } from './output/limits.ts'
import type { Capture } from './output/capture.ts'
import type { Managed } from './managed.ts'
import { kill } from '../native/sys.ts'
import type { Parts } from './parts.ts'

/** A finished process counts among those that share the budget from here on. */
const noticeableBytes = 32 * 1024
/** What the oldest are cut down to when all together are too much. */
const remnantBytes = 16 * 1024

export interface Sweep {
  /** After growth: caps at once when a file has outgrown its share. */
  readonly grew: (capture: Capture) => void
  /** Caps whatever the files hold now. */
  readonly cap: (capture: Capture) => void
  /** Looks at everything. */
  run(): void
}

export const createSweep = (parts: () => Parts): Sweep => {
  let share = Number.POSITIVE_INFINITY
  let sharers = -1

  const measure = (): void => {
    const { table, config } = parts()
    let count = 0
    for (const { record, capture } of table.all())
      if (record.status === 'running' || capture.retained() > noticeableBytes) count++
    sharers = count
    share = fileShare(config, count)
  }

  const linger = (managed: Managed, group: number): void => {
    const release = managed.capture.hold()
    try {
      // Whether somebody is left is asked first: what was written until then is taken.
      if (!kill(-group, 0)) managed.lingering = undefined
      managed.capture.drain()
      managed.capture.cap(share)
    } finally {
      release()
    }
  }

  /** The oldest output of finished processes goes first. */
  const fit = (): void => {
    const { table, config } = parts()
    if (config.maxFileBytes === 0 || config.maxTotalBytes === 0) return
    let total = 0
    for (const { capture } of table.all()) total += capture.retained()
    for (const { record, capture } of table.all()) {
      if (total <= config.maxTotalBytes) return
      if (record.status === 'running') continue
      const before = capture.retained()
      capture.cap(remnantBytes)
      total -= before - capture.retained()
    }
  }

  const forget = (): void => {
    const { table, config, journal } = parts()
    let excess = table.size - table.running - config.keepFinished
    if (excess <= 0) return
    for (const managed of table.all()) {
      if (excess <= 0) return
      if (managed.record.status === 'running' || managed.lingering !== undefined) continue
      table.remove(managed)
      managed.capture.remove()
      journal.forget(managed.record)
      excess--
    }
  }

  const guarded = (managed: Managed, run: () => void): void => {
    try {
      run()
    } catch (error) {
      parts().log.error('process.sweep.failed', { name: managed.record.name, error })
    }
  }

  return {
    grew(capture) {
      if (sharers < 0) measure()
      const { seen, heads, combined } = capture.positions
      const largest = Math.max(seen[0] - heads[0], seen[1] - heads[1], combined - heads[2])
      if (capture.behind || largest > share) capture.cap(share)
    },
    cap(capture) {
      if (sharers < 0) measure()
      try {
        capture.cap(share)
      } catch (error) {
        // A file system without holes, or a full one: what cannot be given back stays.
        parts().log.error('process.cap', { error })
      }
    },
    run() {
      measure()
      for (const managed of parts().table.all())
        guarded(managed, () => {
          if (managed.lingering !== undefined) linger(managed, managed.lingering)
          else if (managed.capture.retained() > share) managed.capture.cap(share)
        })
      fit()
      forget()
    },
  }
}

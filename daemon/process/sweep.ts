/** Keeps what processes have written within the budget of the disk, and the list within its length. */
import { fileShare } from './output/limits.ts'
import type { Log } from '../../shared/log.ts'
import type { Capture } from './output/capture.ts'
import type { Managed } from './managed.ts'
import { kill } from '../native/sys.ts'
import type { Parts } from './parts.ts'

/** A finished process counts among those that share the budget from here on. */
const noticeableBytes = 32 * 1024
/** What the oldest are cut down to when all together are too much. */
const remnantBytes = 16 * 1024

/** Of what has ended the record tells: to ask for its capture opens that, and there are thousands. */
const keptBytes = (managed: Managed): number =>
  managed.record.status === 'running' ? managed.capture.retained() : managed.record.kept

const capEnded = (managed: Managed, share: number): void => {
  const { capture, record } = managed
  capture.cap(share)
  record.kept = capture.retained()
}

/** Takes what children have written that a finished process left behind. */
export const catchUp = (managed: Managed, log: Log): Managed => {
  if (managed.lingering === undefined) return managed
  const { capture, record } = managed
  const release = capture.hold()
  try {
    capture.drain()
    record.kept = capture.retained()
  } catch (error) {
    // A full disk: what was captured before can be read all the same.
    log.warn('process.capture', { name: record.name, error })
  } finally {
    release()
  }
  return managed
}

export interface Sweep {
  /** After growth: caps at once when a file has outgrown its share. */
  readonly grew: (capture: Capture) => void
  /** Caps whatever the files hold now. */
  readonly cap: (capture: Capture) => void
  /** Looks at everything. */
  run(): void
}

/** Bytes one file may keep now, by those that make use of the budget. */
const shareNow = ({ table, config }: Parts): number => {
  let sharers = 0
  for (const { record } of table.all()) if (record.status === 'running' || record.kept > noticeableBytes) sharers++
  return fileShare(config, sharers)
}

const linger = (managed: Managed, group: number, share: number, log: Log): void => {
  // Whether somebody is left is asked first: what was written until then is taken.
  const left = kill(-group, 0)
  catchUp(managed, log)
  capEnded(managed, share)
  if (!left) managed.lingering = undefined
}

const keepToShare = (managed: Managed, share: number, log: Log): void => {
  if (managed.lingering !== undefined) linger(managed, managed.lingering, share, log)
  else if (keptBytes(managed) <= share) return
  else if (managed.record.status === 'running') managed.capture.cap(share, true)
  else capEnded(managed, share)
}

/** Brings all together into the budget: the oldest output of finished processes goes first. */
const fit = ({ table, config }: Parts): void => {
  if (config.maxFileBytes === 0 || config.maxTotalBytes === 0) return
  let total = 0
  for (const managed of table.all()) total += keptBytes(managed)
  for (const managed of table.all()) {
    if (total <= config.maxTotalBytes) return
    const before = managed.record.kept
    if (managed.record.status === 'running' || before <= remnantBytes) continue
    capEnded(managed, remnantBytes)
    total -= before - managed.record.kept
  }
}

/** Forgets the oldest finished processes beyond their number, with their files. */
const forget = ({ table, config, journal }: Parts): void => {
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

export const createSweep = (parts: () => Parts): Sweep => {
  let share: number | undefined
  const guarded = (fields: object, run: () => void): void => {
    try {
      run()
    } catch (error) {
      // A file system without holes, or a full one: what cannot be given back stays.
      parts().log.error('process.cap', { ...fields, error })
    }
  }
  return {
    grew(capture) {
      share ??= shareNow(parts())
      const { seen, heads, combined } = capture.positions
      const largest = Math.max(seen[0] - heads[0], seen[1] - heads[1], combined - heads[2])
      if (capture.behind || largest > share) capture.cap(share, true)
    },
    cap(capture) {
      const most = (share ??= shareNow(parts()))
      guarded({}, () => capture.cap(most))
    },
    run() {
      const { table, log } = parts()
      const most = (share = shareNow(parts()))
      for (const managed of table.all()) guarded({ name: managed.record.name }, () => keepToShare(managed, most, log))
      guarded({}, () => fit(parts()))
      guarded({}, () => forget(parts()))
    },
  }
}

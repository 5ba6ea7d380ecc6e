/** Keeps what processes have written within the budget of the disk, and the list within its length. */
import { removeOutput } from './output/files.ts'
import { fileShare } from './output/limits.ts'
import { outputPaths } from './output/names.ts'
import type { Log } from '../../shared/log.ts'
import type { Capture } from './output/capture.ts'
import type { Managed } from './managed.ts'
import { kill } from '../native/sys/sys.ts'
import type { ProcessContext } from './context.ts'
import { outputDirs } from './start.ts'

/** A finished process counts among those that share the budget from here on. */
const noticeableBytes = 32 * 1024
/** What the oldest are cut down to when all together are too much. */
const remnantBytes = 16 * 1024
/** So many take some milliseconds; the others wait. */
const forgottenAtOnce = 25
const forgetPauseMs = 10

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

interface Sweep {
  /** After growth: caps at once when a file has outgrown its share. */
  readonly grew: (capture: Capture) => void
  /** Caps whatever the files hold now. */
  readonly cap: (capture: Capture) => void
  /** Looks at everything. */
  run(): void
  close(): void
}

/** Bytes one file may keep now, by those that make use of the budget. */
const shareNow = ({ table, config }: ProcessContext): number => {
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
const fit = ({ table, config }: ProcessContext): void => {
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

/** Forgets the oldest finished processes beyond their number, with their files. True when there are more of them. */
const forget = (context: ProcessContext): boolean => {
  const { table, config, journal } = context
  const excess = table.size - table.running - config.keepFinished
  let left = Math.min(excess, forgottenAtOnce)
  if (left <= 0) return false
  for (const managed of table.all()) {
    if (left === 0) return excess > forgottenAtOnce
    if (managed.record.status === 'running' || managed.lingering !== undefined) continue
    table.remove(managed)
    // Not by way of its capture: that would have to be opened first. Whoever reads it reads on.
    removeOutput(outputPaths(outputDirs(context), managed.record.logKey))
    journal.forget(managed.record)
    left--
  }
  return false
}

export const createSweep = (context: () => ProcessContext): Sweep => {
  let share: number | undefined
  const guarded = (fields: object, run: () => void): void => {
    try {
      run()
    } catch (error) {
      // A file system without holes, or a full one: what cannot be given back stays.
      context().log.error('process.cap', { ...fields, error })
    }
  }
  let cancelForget: (() => void) | undefined
  const forgetSome = (): void => {
    cancelForget = undefined
    guarded({}, () => {
      if (forget(context())) cancelForget = context().clock.after(forgetPauseMs, forgetSome)
    })
  }
  return {
    grew(capture) {
      share ??= shareNow(context())
      const { seen, heads, combined } = capture.positions
      const maxHeld = Math.max(seen[0] - heads[0], seen[1] - heads[1], combined - heads[2])
      if (capture.behind || maxHeld > share) capture.cap(share, true)
    },
    cap(capture) {
      const maxBytes = (share ??= shareNow(context()))
      guarded({}, () => capture.cap(maxBytes))
    },
    run() {
      const { table, log } = context()
      const maxBytes = (share = shareNow(context()))
      for (const managed of table.all())
        guarded({ name: managed.record.name }, () => keepToShare(managed, maxBytes, log))
      guarded({}, () => fit(context()))
      if (!cancelForget) forgetSome()
    },
    close: () => cancelForget?.(),
  }
}

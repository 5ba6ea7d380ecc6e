/** Keeps the output of processes within the disk budget, and the list within its length. */
import { removeOutput } from './output/files.ts'
import { fileShare } from './output/limits.ts'
import { outputPaths } from './output/names.ts'
import type { Log } from '../../shared/log.ts'
import type { Capture } from './output/capture.ts'
import type { Managed } from './managed.ts'
import { kill } from '../native/sys/sys.ts'
import type { ProcessContext } from './context.ts'
import { outputDirs } from './start.ts'

/** A finished process with more output than this counts among those that share the budget. */
const noticeableBytes = 32 * 1024
/** The oldest are cut down to this when all together are too large. */
const remnantBytes = 16 * 1024
/** Removing so many takes some milliseconds; then other work has its turn. */
const forgottenAtOnce = 25
const forgetPauseMs = 10

/** For a finished process the record has it: using its capture would open it, and there are thousands. */
const keptBytes = (managed: Managed): number =>
  managed.record.status === 'running' ? managed.capture.retained() : managed.record.kept

const capEnded = (managed: Managed, share: number): void => {
  const { capture, record } = managed
  capture.cap(share)
  record.kept = capture.retained()
}

/** Captures what the children of a finished process have written. */
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

/** Bytes that one file may keep now: the budget divided by those that use it. */
const shareNow = ({ table, config }: ProcessContext): number => {
  let sharers = 0
  for (const { record } of table.all()) if (record.status === 'running' || record.kept > noticeableBytes) sharers++
  return fileShare(config, sharers)
}

const linger = (managed: Managed, group: number, share: number, log: Log): void => {
  // Asked first, so that everything they wrote until their end is captured.
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

/** Cuts the oldest output of finished processes until all output is within the budget. */
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

/** Forgets the oldest finished processes beyond the limit, with their files. True when there are more. */
const forget = (context: ProcessContext): boolean => {
  const { table, config, journal } = context
  const excess = table.size - table.running - config.keepFinished
  let left = Math.min(excess, forgottenAtOnce)
  if (left <= 0) return false
  for (const managed of table.all()) {
    if (left === 0) return excess > forgottenAtOnce
    if (managed.record.status === 'running' || managed.lingering !== undefined) continue
    table.remove(managed)
    // Not through its capture, which would have to be opened first. Readers that have the files open read on.
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
      // A file system that cannot punch holes, or a full one: the files stay as they are.
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
      const { table, log, room } = context()
      if (table.running > 0 && room.isGone())
        for (const { record } of table.all()) if (record.status === 'running') record.diskWasFull = true
      const maxBytes = (share = shareNow(context()))
      for (const managed of table.all())
        guarded({ name: managed.record.name }, () => keepToShare(managed, maxBytes, log))
      guarded({}, () => fit(context()))
      if (!cancelForget) forgetSome()
    },
    close: () => cancelForget?.(),
  }
}

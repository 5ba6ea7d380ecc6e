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

/** The oldest are cut down to this when all together are too large, and to nothing when that is not enough. */
const remnantBytes = 16 * 1024
/** The newest finished processes, with so much of the budget, give way after all others. */
const recentPart = 1 / 2
/** Removing so many takes some milliseconds; then other work has its turn. */
const forgottenAtOnce = 25
const forgetPauseMs = 10

/** For a finished process the record has it: using its capture would open it, and there are thousands. */
const keptBytes = (managed: Managed): number =>
  managed.record.status === 'running' ? managed.capture.retained() : managed.record.kept

const isRunning = ({ record }: Managed): boolean => record.status === 'running'

const capEnded = (managed: Managed, maxBytes: number): void => {
  const { capture, record } = managed
  capture.cap(maxBytes)
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
  /** After growth: at once makes room for it in the budget, and caps a file that is above its ceiling. */
  readonly grew: (capture: Capture) => void
  /** Caps whatever the files hold now at their ceiling. */
  readonly cap: (capture: Capture) => void
  /** Looks at everything. */
  run(): void
  close(): void
}

const linger = (managed: Managed, group: number, ceiling: number, log: Log): void => {
  // Asked first, so that everything they wrote until their end is captured.
  const left = kill(-group, 0)
  catchUp(managed, log)
  capEnded(managed, ceiling)
  if (!left) managed.lingering = undefined
}

const keepToCeiling = (managed: Managed, ceiling: number, log: Log): void => {
  if (managed.lingering !== undefined) linger(managed, managed.lingering, ceiling, log)
  else if (keptBytes(managed) <= ceiling) return
  else if (isRunning(managed)) managed.capture.cap(ceiling, true)
  else capEnded(managed, ceiling)
}

const totalBytes = ({ table }: ProcessContext): number => {
  let total = 0
  for (const managed of table.all()) total += keptBytes(managed)
  return total
}

/** Those with output that nobody reads, the oldest end first; `recent` is where the newest begin. */
const finishedByAge = ({ table, config }: ProcessContext): { older: Managed[]; recent: Managed[] } => {
  const byAge = [...table.all()]
    .filter(managed => !isRunning(managed) && managed.record.kept > 0 && !managed.isRead)
    .toSorted((one, other) => (one.record.completedAt ?? 0) - (other.record.completedAt ?? 0))
  let begin = byAge.length
  for (let bytes = 0; begin > 0; begin--) {
    bytes += byAge[begin - 1]?.record.kept ?? 0
    if (bytes > config.maxTotalBytes * recentPart) break
  }
  return { older: byAge.slice(0, begin), recent: byAge.slice(begin) }
}

/** Cuts the output of finished processes that nobody reads, the oldest first, until `total` is at most `goal`; returns what it is then. */
const cutFinished = (context: ProcessContext, total: number, goal: number): number => {
  const { older, recent } = finishedByAge(context)
  let left = total
  for (const group of [older, recent])
    for (const remnant of [remnantBytes, 0])
      for (const managed of group) {
        if (left <= goal) return left
        const before = managed.record.kept
        if (before <= remnant) continue
        capEnded(managed, remnant)
        left -= before - managed.record.kept
      }
  return left
}

/** Cuts what runs, or is being read, down to equal shares; returns the bytes of all output then. */
const cutToShares = (context: ProcessContext): number => {
  const { table, config } = context
  const inUse = [...table.all()].filter(managed => isRunning(managed) || managed.isRead)
  const share = fileShare(config, inUse.length)
  for (const managed of inUse) {
    if (isRunning(managed)) managed.capture.cap(share, true)
    else capEnded(managed, share)
  }
  return totalBytes(context)
}

/**
 * Keeps all output within the budget: finished processes that nobody reads give way first, and only when they have nothing
 * left those that run. Returns the bytes of all output at which it has to be looked at again.
 */
const fit = (context: ProcessContext): { total: number; again: number } => {
  const { maxTotalBytes } = context.config
  // So that the next line of a process that writes does not need another round.
  const slack = Math.floor(maxTotalBytes / 16)
  let total = totalBytes(context)
  if (total > maxTotalBytes) total = cutFinished(context, total, maxTotalBytes - slack)
  if (total > maxTotalBytes) total = cutToShares(context)
  return { total, again: total > maxTotalBytes ? total + slack : maxTotalBytes }
}

/** Forgets the oldest finished processes beyond the limit, with their files. True when there are more. */
const forget = (context: ProcessContext): boolean => {
  const { table, config, journal } = context
  const excess = table.size - table.running - config.keepFinished
  let left = Math.min(excess, forgottenAtOnce)
  if (left <= 0) return false
  for (const managed of table.all()) {
    if (left === 0) return excess > forgottenAtOnce
    if (isRunning(managed) || managed.lingering !== undefined) continue
    table.remove(managed)
    // Not through its capture, which would have to be opened first. Readers that have the files open read on.
    removeOutput(outputPaths(outputDirs(context), managed.record.logKey))
    journal.forget(managed.record)
    left--
  }
  return false
}

/** The bytes of all output, as they grow. */
interface Budget {
  grew(capture: Capture): void
  /** Counts everything anew. */
  fit(): void
}

const createBudget = (context: () => ProcessContext): Budget => {
  /** What was counted of each capture that runs. */
  const counted = new WeakMap<Capture, number>()
  let total = 0
  let again = 0
  const isBounded = ({ maxFileBytes, maxTotalBytes }: ProcessContext['config']): boolean =>
    maxFileBytes > 0 && maxTotalBytes > 0
  const fitAll = (): void => {
    if (!isBounded(context().config)) return
    ;({ total, again } = fit(context()))
    for (const managed of context().table.all())
      if (isRunning(managed)) counted.set(managed.capture, managed.capture.retained())
  }
  return {
    fit: fitAll,
    grew(capture) {
      const now = capture.retained()
      total += now - (counted.get(capture) ?? 0)
      counted.set(capture, now)
      if (total > again) fitAll()
    },
  }
}

export const createSweep = (context: () => ProcessContext): Sweep => {
  const ceiling = (): number => fileShare(context().config, 0)
  const budget = createBudget(context)
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
      const { seen, heads, combined } = capture.positions
      const maxHeld = Math.max(seen[0] - heads[0], seen[1] - heads[1], combined - heads[2])
      if (capture.behind || maxHeld > ceiling()) capture.cap(ceiling(), true)
      budget.grew(capture)
    },
    cap: capture =>
      guarded({}, () => {
        capture.cap(ceiling())
        budget.grew(capture)
      }),
    run() {
      const { table, log, room } = context()
      if (table.running > 0 && room.isGone())
        for (const { record } of table.all()) if (record.status === 'running') record.diskWasFull = true
      for (const managed of table.all())
        guarded({ name: managed.record.name }, () => keepToCeiling(managed, ceiling(), log))
      guarded({}, budget.fit)
      if (!cancelForget) forgetSome()
    },
    close: () => cancelForget?.(),
  }
}

/** What happens when a process ends: a new status, and a restart or the final end. */
import { kill, type Exit } from '../native/sys/sys.ts'
import { isSame, runningPid } from './pid-identity.ts'
import type { Managed } from './managed.ts'
import type { ProcessContext } from './context.ts'
import { launchCaptured } from './launch.ts'
import { setLongTimer } from './long-timer.ts'
import { outcomeOf } from './outcome.ts'

const restartPauseMs = 1_000

/**
 * Signals the process group as it is now, else the process alone. False when neither is there: a process that was
 * inherited from a killed daemon may have ended unnoticed, and its number may be another's.
 */
export const signalGroup = ({ record: { current } }: Managed, signal: number): boolean => {
  if (current === undefined || (current.startTicks !== '' && !isSame(current, current.bootId))) return false
  return kill(-current.pid, signal) || kill(current.pid, signal)
}

const finish = (context: ProcessContext, managed: Managed, pid: number | undefined): void => {
  const { record, capture } = managed
  record.completedAt = context.clock.now()
  // Before anything of its output is given back to the disk.
  if (context.room.isGone()) record.diskWasFull = true
  record.deadline = undefined
  if (record.ending) record.keepAlive = false
  context.tailing.remove(capture)
  // Before the rest is captured, so that the end of a flood costs no more than a share; and again after it.
  context.cap(capture)
  try {
    capture.end()
  } catch (error) {
    // With a full disk the combined log is incomplete; the process ends all the same.
    context.log.error('process.capture', { name: record.name, error })
  }
  record.kept = capture.retained()
  if (record.kept > 0) context.cap(capture)
  record.kept = capture.retained()
  managed.settle()
  managed.cancelDeadline()
  managed.release()
  managed.stdin?.end()
  managed.stdin = undefined
  // Its children may outlive it and go on writing: the sweep bounds what they write.
  managed.lingering = pid !== undefined && kill(-pid, 0) ? pid : undefined
  context.journal.put(record)
  managed.finish()
}

const mayRestart = ({ record }: Managed): boolean =>
  record.status === 'failed' &&
  record.restartOnFailure &&
  (record.maxRestarts < 0 || record.restartCount < record.maxRestarts)

const restart = (context: ProcessContext, managed: Managed): void => {
  const { record, capture } = managed
  managed.cancelRestart = () => undefined
  try {
    const { pid, stdin } = launchCaptured(context.workload, capture, {
      command: record.command,
      workingDir: record.workingDir,
      givenDir: record.workingDir,
      env: record.env,
      pipeStdin: record.stdin,
    })
    managed.stdin = stdin
    record.current = runningPid(pid, context.bootId)
    record.startedAt = context.clock.now()
    record.exitCode = 0
    context.journal.put(record)
    watchEnd(context, managed)
  } catch (error) {
    context.log.warn('process.restart.failed', { name: record.name, error })
    record.status = 'failed'
    record.exitCode = -1
    record.outcome = { reason: 'not_started' }
    finish(context, managed, undefined)
  }
}

/** Restarts after the pause; until then the process counts as running. */
export const scheduleRestart = (context: ProcessContext, managed: Managed): void => {
  managed.cancelRestart = context.clock.after(restartPauseMs, () => restart(context, managed))
}

/** Ends a process that waits for its restart. */
export const cancelRestartPause = (context: ProcessContext, managed: Managed): void => {
  managed.cancelRestart()
  const { record } = managed
  record.status = record.ending ?? 'stopped'
  record.outcome = { reason: record.timedOut ? 'timeout' : (record.ending ?? 'stopped') }
  finish(context, managed, undefined)
}

/** Handles the end of the OS process. An exit code that is lost counts as -1. `mayGoOn` false: no restart. */
export const ended = (context: ProcessContext, managed: Managed, exit: Omit<Exit, 'pid'>, mayGoOn = true): void => {
  const { record, capture } = managed
  const pid = record.current?.pid
  record.current = undefined
  record.exitCode = exit.exitCode ?? -1
  record.outcome = outcomeOf(exit, {
    ending: record.ending,
    timedOut: record.timedOut ?? false,
    takeMemoryKill: context.memoryKills.take,
    memoryBytes: context.memoryKills.limitBytes,
    floorBytes: process.resourceUsage().maxRSS * 1024,
  })
  record.status = record.ending ?? (record.exitCode === 0 ? 'completed' : 'failed')
  if (!mayGoOn || !mayRestart(managed)) return finish(context, managed, pid)
  const max = record.maxRestarts < 0 ? 'unlimited' : record.maxRestarts
  record.restartCount++
  record.status = 'running'
  context.cap(capture)
  try {
    capture.drain()
    capture.note(
      `\n[Process failed with exit code ${record.exitCode}. Attempting restart ${record.restartCount}/${max}...]\n`,
    )
  } catch (error) {
    // The disk is full: the restart is what matters.
    context.log.error('process.capture', { name: record.name, error })
  }
  managed.stdin?.end()
  managed.stdin = undefined
  context.journal.put(record)
  scheduleRestart(context, managed)
}

/** Watches for the end of the current OS process. Call it in the turn of the event loop in which that was started. */
export const watchEnd = (context: ProcessContext, managed: Managed): void => {
  const pid = managed.record.current?.pid
  if (pid !== undefined) managed.cancelWatch = context.reaper.watch(pid, exit => ended(context, managed, exit))
}

/** Kills the process at its deadline. */
export const armDeadline = (context: ProcessContext, managed: Managed): void => {
  const { deadline } = managed.record
  if (deadline === undefined) return
  managed.cancelDeadline = setLongTimer(context.clock, deadline - context.clock.now(), () => {
    managed.record.ending = 'killed'
    managed.record.timedOut = true
    context.journal.put(managed.record)
    if (!signalGroup(managed, 9)) cancelRestartPause(context, managed)
  })
}

/**
 * Reaps processes: those the daemon spawned, and as PID 1 every orphan that falls to it.
 *
 * libuv also reacts to SIGCHLD, but it waits only for the pids it started itself, never for any child. So the two get
 * along as long as we do not reap a child that libuv waits for. Its children are known from the diagnostics channel of
 * node:child_process.
 */
import type { ChildProcess } from 'node:child_process'
import { channel } from 'node:diagnostics_channel'
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import { readStat } from '../proc/stat.ts'
import { kill, reap, waitpid, type Exit } from '../native/sys/sys.ts'

export type { Exit } from '../native/sys/sys.ts'

export interface Reaper {
  /**
   * Calls `ended` once when the process has ended. Call it in the same turn of the event loop as `spawnProcess`, or at
   * start for children kept over an exec of the daemon. The end of a process that is no child of ours is noticed within
   * a second, without exit code and signal. The returned function cancels.
   */
  watch(pid: number, ended: (exit: Exit) => void): () => void
  close(): void
}

const pollMs = 1_000
const retryMs = 20

/** The children that node:child_process waits for, from now on. */
const childProcesses = () => {
  const known = new Set<ChildProcess>()
  const started = channel('child_process')
  const add = (message: unknown) => void known.add((message as { process: ChildProcess }).process)
  started.subscribe(add)
  return {
    has: (pid: number): boolean => {
      for (const child of known) {
        // A start that failed never has a pid; it is set before the start returns.
        if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) known.delete(child)
        else if (child.pid === pid) return true
      }
      return false
    },
    close: () => void started.unsubscribe(add),
  }
}

interface ReaperContext {
  readonly clock: Clock
  readonly log: Log
  readonly watched: Map<number, (exit: Exit) => void>
  readonly libuv: ReturnType<typeof childProcesses>
  cancelRetry: (() => void) | undefined
}

const report = ({ watched, log }: ReaperContext, exit: Exit): void => {
  const ended = watched.get(exit.pid)
  watched.delete(exit.pid)
  if (!ended) return log.debug('orphan.reaped', exit)
  try {
    ended(exit)
  } catch (error) {
    log.error('reaper.listener', { pid: exit.pid, error })
  }
}

/** Asks for each watched process by its pid. */
const checkWatched = (context: ReaperContext): void => {
  for (const pid of context.watched.keys()) {
    const exit = waitpid(pid)
    if (exit === 'unknown') {
      // A zombie has ended too, however long its parent leaves it there.
      const ended = !kill(pid, 0) || /^[ZX]$/.test(readStat(pid)?.state ?? '')
      if (ended) report(context, { pid, exitCode: null, signal: null })
    } else if (exit) report(context, exit)
  }
}

const reapAll = (context: ReaperContext): void => {
  const { clock, libuv } = context
  context.cancelRetry?.()
  context.cancelRetry = undefined
  const { exits, more } = reap(libuv.has)
  for (const exit of exits) report(context, exit)
  if (!more) return
  // The kernel shows one ended child at a time: one that is not ours to reap must not hide ours.
  checkWatched(context)
  context.cancelRetry = clock.after(retryMs, () => reapAll(context))
}

/**
 * Reaps on SIGCHLD whichever child the kernel says has ended, so that an end costs the same however many run. Once a
 * second it asks for each that is watched: a signal may have been lost, and some are no children of ours. Children that
 * exist now and are unknown count as orphans.
 */
export const createReaper = (deps: { clock: Clock; log: Log }): Reaper => {
  const context: ReaperContext = {
    ...deps,
    watched: new Map(),
    libuv: childProcesses(),
    cancelRetry: undefined,
  }
  const { watched, libuv } = context
  const onChildSignal = () => reapAll(context)
  process.on('SIGCHLD', onChildSignal)
  const stopPolling = deps.clock.every(pollMs, () => {
    checkWatched(context)
    reapAll(context)
  })
  return {
    watch(pid, ended) {
      watched.set(pid, ended)
      return () => {
        if (watched.get(pid) === ended) watched.delete(pid)
      }
    },
    close() {
      process.off('SIGCHLD', onChildSignal)
      stopPolling()
      context.cancelRetry?.()
      libuv.close()
    },
  }
}

/**
 * PID 1 waits for everybody: the processes it spawned and every orphan that falls to it.
 *
 * libuv also reacts to SIGCHLD, but it waits only for the pids it started itself, never for "any child"; so the two get
 * along as long as we do not reap a child that libuv (node:child_process) or node-pty waits for. Those of
 * node:child_process are known from its diagnostics channel, others are named with `leave`.
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
   * Calls `ended` once when the child has ended. Call it in the same turn as `spawnProcess`, or at start for children
   * kept over an exec of the daemon. A process that is no child of ours is noticed within the poll, and its exit code
   * and signal are then both null. The returned function cancels.
   */
  watch(pid: number, ended: (exit: Exit) => void): () => void
  /** Somebody else waits for this child (node-pty does). The returned function ends it; the end of the child does too. */
  leave(pid: number): () => void
  close(): void
}

const pollMs = 1_000
const retryMs = 20

/** The children node:child_process waits for, as of now. */
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

/**
 * Reaps on SIGCHLD whoever the kernel says has ended, so that an end costs the same however many run; once a second it
 * asks for each that is watched, in case a signal was lost and for those that are no children of ours. Children that
 * exist now and are unknown are orphans.
 */
export const createReaper = (deps: { clock: Clock; log: Log }): Reaper => {
  const { clock, log } = deps
  const watched = new Map<number, (exit: Exit) => void>()
  const left = new Set<number>()
  const libuv = childProcesses()
  let cancelRetry: (() => void) | undefined

  const report = (exit: Exit) => {
    const ended = watched.get(exit.pid)
    watched.delete(exit.pid)
    if (!ended) return log.debug('orphan.reaped', exit)
    try {
      ended(exit)
    } catch (error) {
      log.error('reaper.listener', { pid: exit.pid, error })
    }
  }
  /** Asks for each of our own by its pid. */
  const own = () => {
    for (const pid of watched.keys()) {
      const exit = waitpid(pid)
      if (exit === 'unknown') {
        // As a zombie it has ended too, however long its parent leaves it there.
        if (!kill(pid, 0) || /^[ZX]$/.test(readStat(pid)?.state ?? '')) report({ pid, exitCode: null, signal: null })
      } else if (exit) report(exit)
    }
  }
  const round = () => {
    cancelRetry?.()
    cancelRetry = undefined
    for (const pid of left) if (!kill(pid, 0)) left.delete(pid)
    const { exits, more } = reap(pid => left.has(pid) || libuv.has(pid))
    for (const exit of exits) report(exit)
    if (!more) return
    // They must not wait behind a child that is somebody else's.
    own()
    cancelRetry = clock.after(retryMs, round)
  }
  const poll = () => {
    own()
    round()
  }

  process.on('SIGCHLD', round)
  const stopPolling = clock.every(pollMs, poll)
  return {
    watch(pid, ended) {
      watched.set(pid, ended)
      return () => {
        if (watched.get(pid) === ended) watched.delete(pid)
      }
    },
    leave(pid) {
      left.add(pid)
      return () => void left.delete(pid)
    },
    close() {
      process.off('SIGCHLD', round)
      stopPolling()
      cancelRetry?.()
      libuv.close()
    },
  }
}

/** System calls about processes, files and privileges that Node does not offer. */
import { check, lazy, loadAddon } from '../load.ts'

type Waited = [pid: number, exitCode: number, signal: number, peakKib: number] | number

interface SysAddon {
  wait_for(pid: number): Waited
  random_bytes(buffer: Buffer): number
  peek(): number
  read_stat(pid: number): string | number
  send_signal(pid: number, signal: number): number
  control(option: number, argument: number): number
  punch(fd: number, offset: number, length: number): number
  lock(fd: number, operation: number): number
  ignore_signal(signal: number): number
  guard_signal(signal: number): number
  ignore_fatal(): number
}

const addon = lazy(() => loadAddon<SysAddon>('sys'))
const [ESRCH, EAGAIN, ECHILD] = [3, 11, 10]

/** How a process ended: by an exit code, or by a signal (then the code is null). */
export interface Exit {
  readonly pid: number
  readonly exitCode: number | null
  /** Signal number, or null. */
  readonly signal: number | null
  /**
   * The largest resident size, in bytes, that it or a descendant it has waited for had. What it was before its exec counts:
   * it is then a copy of the daemon.
   */
  readonly peakBytes?: number
}

/**
 * Reaps one child if it has ended. `undefined`: it still runs. `'unknown'`: it is not our child, or was reaped already.
 */
export const waitpid = (pid: number): Exit | 'unknown' | undefined => {
  const waited = addon().wait_for(pid)
  if (typeof waited !== 'number') {
    const [, exitCode, signal, peakKib] = waited
    const peakBytes = peakKib * 1024
    return signal === 0 ? { pid, exitCode, signal: null, peakBytes } : { pid, exitCode: null, signal, peakBytes }
  }
  if (waited === -ECHILD) return 'unknown'
  check('waitpid', waited)
  return undefined
}

/** The pid of a child that has ended and is not reaped yet; does not reap it. */
const endedChild = (): number | undefined => {
  const pid = addon().peek()
  return pid === -ECHILD ? undefined : check('waitid', pid) || undefined
}

/**
 * Reaps every child that has ended, including orphans that became our children. `leave` names children that somebody
 * else reaps, such as libuv: they are not touched. The kernel shows ended children one at a time, so the round stops at
 * the first of those. `more` is then true: call again after its owner had a turn.
 */
export const reap = (leave: (pid: number) => boolean = () => false): { exits: Exit[]; more: boolean } => {
  const exits: Exit[] = []
  for (let pid = endedChild(); pid !== undefined; pid = endedChild()) {
    if (leave(pid)) return { exits, more: true }
    const exit = waitpid(pid)
    if (exit !== undefined && exit !== 'unknown') exits.push(exit)
  }
  return { exits, more: false }
}

/** The line of `/proc/PID/stat`; undefined when the kernel shows no such process. */
export const readStatLine = (pid: number): string | undefined => {
  const line = addon().read_stat(pid)
  return typeof line === 'string' ? line : undefined
}

/**
 * Sends a signal to a process, or with a negative pid to its group; signal 0 only checks. False when there is no such
 * process.
 */
export const kill = (pid: number, signal: number): boolean => {
  const result = addon().send_signal(pid, signal)
  if (result === -ESRCH) return false
  check('kill', result)
  return true
}

const control = (option: number, argument: number, name: string) => check(name, addon().control(option, argument))

/** Makes this process undumpable: others of the same user cannot trace it, and its /proc files belong to root. */
export const setDumpable = (on: boolean): void => void control(4, on ? 1 : 0, 'prctl(PR_SET_DUMPABLE)')

/** Gives a byte range of a file back to the disk: the size stays, the range reads as zeros. */
export const punchHole = (fd: number, offset: number, length: number): void =>
  void check('fallocate', addon().punch(fd, offset, length))

/**
 * Takes an exclusive advisory lock without waiting; false when somebody else has it. Closing the descriptor releases
 * it.
 */
export const tryLock = (fd: number): boolean => {
  const result = addon().lock(fd, 2 | 4)
  if (result === -EAGAIN) return false
  check('flock', result)
  return true
}

/** Takes a shared advisory lock without waiting. Throws `EAGAIN` when somebody has an exclusive one. */
export const lockShared = (fd: number): void => void check('flock', addon().lock(fd, 1 | 4))

/** Ignores a signal, whatever handler Node has for it. */
export const ignoreSignal = (signal: number): void => void check('sigaction', addon().ignore_signal(signal))

/**
 * From now on the handler of `signal`, which was installed with `process.on` before, runs only for senders outside of
 * our pid namespace and for ourselves. Without a handler the signal is ignored.
 */
export const guardSignal = (signal: number): void => void check('sigaction', addon().guard_signal(signal))

/** Ignores every signal that has no handler and would end the process, including real-time signals. */
export const ignoreFatalSignals = (): void => void check('sigaction', addon().ignore_fatal())

/** At most 256 random bytes from the kernel. `node:crypto` would take 5 ms and 1 MB to load. */
export const randomBytes = (count: number): Buffer => {
  const bytes = Buffer.alloc(count)
  check('getrandom', addon().random_bytes(bytes))
  return bytes
}

/** System calls about processes, files and privileges that Node does not offer. */
import { check, lazy, loadAddon } from '../load.ts'

type Waited = [pid: number, exitCode: number, signal: number] | number

interface SysAddon {
  wait_for(pid: number): Waited
  random_bytes(buffer: Buffer): number
  peek(): number
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
}

/** Reaps one child if it has ended. `undefined`: it still runs. `'unknown'`: it is not, or no longer, a child of ours. */
export const waitpid = (pid: number): Exit | 'unknown' | undefined => {
  const waited = addon().wait_for(pid)
  if (typeof waited !== 'number') {
    const [, exitCode, signal] = waited
    return signal === 0 ? { pid, exitCode, signal: null } : { pid, exitCode: null, signal }
  }
  if (waited === -ECHILD) return 'unknown'
  check('waitpid', waited)
  return undefined
}

/** The pid of some child that has ended and was not reaped yet, without reaping it. */
const endedChild = (): number | undefined => {
  const pid = addon().peek()
  return pid === -ECHILD ? undefined : check('waitid', pid) || undefined
}

/**
 * Reaps every child that has ended, ours and orphans that fell to us. `leave` names the children that others wait
 * for, such as libuv: they are not touched. The kernel shows ended children one at a time, so the round stops at the first
 * one that is to be left. `more` then is true: call again once its owner had its turn.
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

/** Signals a process, or with a negative pid its group; 0 as the signal only asks. False when there is none. */
export const kill = (pid: number, signal: number): boolean => {
  const result = addon().send_signal(pid, signal)
  if (result === -ESRCH) return false
  check('kill', result)
  return true
}

const control = (option: number, argument: number, name: string) => check(name, addon().control(option, argument))

/** Keeps other processes of the same user from reading or tracing this one, and its /proc files root's. */
export const setDumpable = (on: boolean): void => void control(4, on ? 1 : 0, 'prctl(PR_SET_DUMPABLE)')

/** Gives a byte range of a file back to the disk: the size stays, the range reads as zeros. */
export const punchHole = (fd: number, offset: number, length: number): void =>
  void check('fallocate', addon().punch(fd, offset, length))

/** Takes an exclusive advisory lock without waiting; false when somebody else has it. Closing the descriptor frees it. */
export const tryLock = (fd: number): boolean => {
  const result = addon().lock(fd, 2 | 4)
  if (result === -EAGAIN) return false
  check('flock', result)
  return true
}

/** Takes a shared advisory lock without waiting. Throws `EAGAIN` when somebody has an exclusive one. */
export const lockShared = (fd: number): void => void check('flock', addon().lock(fd, 1 | 4))

/** Ignores a signal, whatever node does with it. */
export const ignoreSignal = (signal: number): void => void check('sigaction', addon().ignore_signal(signal))

/**
 * From now on the handler of `signal` (installed before with `process.on`) runs only when the sender is outside of our
 * pid namespace, or is ourselves. Without a handler the signal is ignored.
 */
export const guardSignal = (signal: number): void => void check('sigaction', addon().guard_signal(signal))

/** Ignores every signal that nobody handles and that would end the process, real-time ones included. */
export const ignoreFatalSignals = (): void => void check('sigaction', addon().ignore_fatal())

/** At most 256 bytes that nobody can guess. Not by `node:crypto`, which takes 5 ms and 1 MB to load. */
export const randomBytes = (count: number): Buffer => {
  const bytes = Buffer.alloc(count)
  check('getrandom', addon().random_bytes(bytes))
  return bytes
}

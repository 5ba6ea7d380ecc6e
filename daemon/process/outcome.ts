/** How a process ended: what callers read beside its status and exit code. */
import { constants } from 'node:os'
import type { Exit } from '../native/sys/sys.ts'
import type { EndReason } from '../../shared/wire/process.ts'

/** The end of the last run of a process, as the journal keeps it. */
export interface Outcome {
  readonly reason: EndReason
  /** Number of the signal that ended it. */
  readonly signal?: number | undefined
  /** The largest resident size of one process of its tree, in bytes. */
  readonly peakBytes?: number | undefined
  /** The memory of the sandbox at an end for want of it, in bytes. */
  readonly memoryBytes?: number | undefined
}

/** What a run leaves that is not in its exit status. */
interface Circumstances {
  /** A stop or kill that was requested through the API. */
  readonly ending: 'stopped' | 'killed' | undefined
  /** Its time limit has passed, and the daemon has killed it. */
  readonly timedOut: boolean
  /** Takes one kill for want of memory that no other process has accounted for. */
  readonly takeMemoryKill: () => boolean
  readonly memoryBytes: () => number | undefined
  /** Bytes that a process seems to have used without having done so: before its exec it counts as the daemon. */
  readonly floorBytes: number
}

const SIGKILL = 9
/** What a shell answers for a command that SIGKILL has ended. */
const killedExitCode = 128 + SIGKILL

const names = new Map<number, string>()
// An alias comes after the usual name of its number.
for (const [name, number] of Object.entries(constants.signals)) if (!names.has(number)) names.set(number, name)

/** `SIGKILL`; `SIG34` for a real-time signal, which has no name. */
export const signalName = (signal: number): string => names.get(signal) ?? `SIG${signal}`

const reasonOf = (exit: Pick<Exit, 'exitCode' | 'signal'>, circumstances: Circumstances): EndReason => {
  const { exitCode, signal } = exit
  const { ending, timedOut, takeMemoryKill } = circumstances
  if (timedOut) return 'timeout'
  if (ending) return ending
  if ((signal === SIGKILL || exitCode === killedExitCode) && takeMemoryKill()) return 'out_of_memory'
  if (signal !== null) return 'signal'
  return exitCode === null ? 'unknown' : 'exited'
}

export const outcomeOf = (exit: Omit<Exit, 'pid'>, circumstances: Circumstances): Outcome => {
  const reason = reasonOf(exit, circumstances)
  const { signal, peakBytes = 0 } = exit
  return {
    reason,
    ...(signal === null ? {} : { signal }),
    ...(peakBytes > circumstances.floorBytes ? { peakBytes } : {}),
    ...(reason === 'out_of_memory' ? { memoryBytes: circumstances.memoryBytes() } : {}),
  }
}

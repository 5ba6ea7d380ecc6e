import type { ProcessStatus } from '../../shared/wire/process.ts'
import type { Outcome } from './outcome.ts'

/**
 * One process as plain data, kept in the journal so that another daemon can take over. Times are epoch milliseconds.
 */
export interface ProcessRecord {
  /** Counts starts; tells runs apart that had the same pid or name. */
  readonly id: number
  /** OS pid of the first start: clients know the process by it, also after restarts. */
  readonly pid: number
  readonly name: string
  readonly command: string
  readonly workingDir: string
  /** The caller's variables; at each restart they are merged with the daemon's again. */
  readonly env: Readonly<Record<string, string>>
  readonly restartOnFailure: boolean
  /** Negative: without limit. */
  readonly maxRestarts: number
  readonly stdin: boolean
  /** Names the files of its output; changes when the name is taken by a later process. */
  logKey: string
  status: ProcessStatus
  startedAt: number
  completedAt: number | undefined
  exitCode: number
  restartCount: number
  keepAlive: boolean
  /** When it is killed, or undefined: never. */
  deadline: number | undefined
  /** Milliseconds from its start to its deadline. */
  readonly limitMs?: number | undefined
  /** The deadline has passed, and it is being killed. */
  timedOut?: boolean
  /** How the last run ended. */
  outcome?: Outcome | undefined
  /** What runs now, or undefined between restarts and at the end. */
  current: RunningPid | undefined
  /** A stop or kill was requested; this becomes the status at the end. */
  ending: 'stopped' | 'killed' | undefined
  /** Bytes of output on disk, once it has ended. */
  kept: number
  /** The disk was full while it ran. */
  diskWasFull?: boolean | undefined
}

/** A pid that cannot be mistaken for a later process of the same number. */
export interface RunningPid {
  readonly pid: number
  /** Start time in clock ticks after boot, as in /proc/PID/stat; '' when the process was gone before it could be read. */
  readonly startTicks: string
  readonly bootId: string
}

import type { ProcessStatus } from '../../shared/wire/process.ts'

/**
 * What is known of one process: plain data, kept in the journal so that another daemon can go on where this one stopped.
 * Times are epoch milliseconds.
 */
export interface ProcessRecord {
  /** Counts starts; tells runs apart that had the same pid or name. */
  readonly id: number
  /** OS pid of the first start: the identity on the wire, over restarts. */
  readonly pid: number
  readonly name: string
  readonly command: string
  readonly workingDir: string
  /** The variables the caller gave, merged anew with the daemon's at each restart. */
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
  /** What runs now, or undefined between restarts and at the end. */
  current: RunningPid | undefined
  /** Stop or kill was asked for; the end takes this status. */
  ending: 'stopped' | 'killed' | undefined
  /** Bytes of output on disk, once it has ended. */
  kept: number
}

/** A pid that cannot be mistaken for a later process of the same number. */
export interface RunningPid {
  readonly pid: number
  /** Start time in clock ticks after boot, as in /proc/PID/stat; '' when the process was gone before it could be read. */
  readonly startTicks: string
  readonly bootId: string
}

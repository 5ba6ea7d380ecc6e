/** What the kernel says of a process in `/proc/PID/stat`, as proc_pid_stat(5) lays it out. */
import { readStatLine } from '../native/sys/sys.ts'

export interface ProcessStat {
  readonly pid: number
  /** One letter; `Z` and `X` have ended. */
  readonly state: string
  readonly parent: number
  readonly group: number
  readonly session: number
  /** Start time in clock ticks after boot: tells a process from a later one with the same number. */
  readonly startTicks: string
}

/** From the state to the start time. */
const fields = 20

/** Undefined when it is no such line. The name in parentheses may itself hold blanks and parentheses. */
export const parseStat = (text: string): ProcessStat | undefined => {
  const end = text.lastIndexOf(')')
  const [state, parent, group, session, ...more] = text.slice(end + 2).split(' ', fields)
  const startTicks = more[15]
  if (end < 0 || state === undefined || startTicks === undefined) return undefined
  return {
    pid: Number.parseInt(text, 10),
    state,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startTicks,
  }
}

/** Undefined when there is no such process. */
export const readStat = (pid: number): ProcessStat | undefined => {
  const line = readStatLine(pid)
  return line === undefined ? undefined : parseStat(line)
}

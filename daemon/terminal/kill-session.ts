import { readdirSync, readFileSync } from 'node:fs'
import { kill } from '../native/sys/sys.ts'

const SIGKILL = 9

/** Field 6 of /proc/PID/stat (proc_pid_stat(5)); the name before it is in parentheses and may hold anything. */
const sessionOf = (pid: string): number => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3])
  } catch {
    // It ended between the listing and the look.
    return 0
  }
}

/** Kills every process of the session that `leader` leads, whatever group or terminal it moved to. */
export const endSession = (leader: number): void => {
  for (const pid of readdirSync('/proc')) if (/^\d+$/.test(pid) && sessionOf(pid) === leader) kill(Number(pid), SIGKILL)
}

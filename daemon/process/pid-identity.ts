import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs'
import type { RunningPid } from './record.ts'

const scratch = Buffer.allocUnsafe(1024)

/** State letter and start time in clock ticks of a pid, or undefined when there is no such process. */
export const statOf = (pid: number): { state: string; startTicks: string } | undefined => {
  let fd: number
  try {
    fd = openSync(`/proc/${pid}/stat`, constants.O_RDONLY)
  } catch {
    // No such process.
    return undefined
  }
  try {
    const text = scratch.toString('latin1', 0, readSync(fd, scratch, 0, scratch.length, 0))
    // The name may hold blanks and parentheses; what follows its last one does not.
    const state = text.lastIndexOf(')') + 2
    let start = state
    for (let field = 0; field < 19; field++) start = text.indexOf(' ', start) + 1
    return { state: text.charAt(state), startTicks: text.slice(start, text.indexOf(' ', start)) }
  } catch {
    // ESRCH: it ended between open and read.
    return undefined
  } finally {
    closeSync(fd)
  }
}

export const readBootId = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Not every sandboxed kernel has it; start times alone must do.
    return ''
  }
}

export const runningPid = (pid: number, bootId: string): RunningPid => ({
  pid,
  startTicks: statOf(pid)?.startTicks ?? '',
  bootId,
})

/** Whether that very process still exists, as a zombie too; a later one with its number is another. */
export const isSame = (running: RunningPid, bootId: string): boolean =>
  running.bootId === bootId && running.startTicks !== '' && statOf(running.pid)?.startTicks === running.startTicks

import { readFileSync } from 'node:fs'
import { readStat } from '../proc/stat.ts'
import type { RunningPid } from './record.ts'

export const readBootId = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Some sandboxed kernels do not have it; start times alone must do.
    return ''
  }
}

export const runningPid = (pid: number, bootId: string): RunningPid => ({
  pid,
  startTicks: readStat(pid)?.startTicks ?? '',
  bootId,
})

/** Whether that process still exists, even as a zombie; a later one with its pid is another process. */
export const isSame = (running: RunningPid, bootId: string): boolean =>
  running.bootId === bootId && running.startTicks !== '' && readStat(running.pid)?.startTicks === running.startTicks

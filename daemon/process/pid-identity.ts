import { readFileSync } from 'node:fs'
import { readStat } from '../proc/stat.ts'
import type { RunningPid } from './record.ts'

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
  startTicks: readStat(pid)?.startTicks ?? '',
  bootId,
})

/** Whether that very process still exists, as a zombie too; a later one with its number is another. */
export const isSame = (running: RunningPid, bootId: string): boolean =>
  running.bootId === bootId && running.startTicks !== '' && readStat(running.pid)?.startTicks === running.startTicks

/**
 * Gives back what a burst has left behind, when the server has little to do. V8 collects when it allocates, and on a large box lets
 * its heap grow to several times of what is in use: left alone, a server keeps for days what it needed for minutes.
 */
import type { Clock } from '../../../shared/clock.ts'
import type { Log } from '../../../shared/log.ts'

export interface Collector {
  /** Bytes that the process has written and holds. */
  heldBytes(): number
  /** Processor time that it has used so far. */
  cpuMs(): number
  /** Collects everything, for which the process stands still for some 50 ms, and gives free pages back. */
  collect(): Promise<void>
}

const everyMs = 5_000
/** Part of one processor below which it has little to do. */
const idleShare = 0.1
/** Growth that is worth standing still for. */
const growthBytes = 16 * 1024 * 1024

/** Looks from time to time. Answers what stops it. */
export const tidyMemory = (collector: Collector, { clock, log }: { clock: Clock; log: Log }): (() => void) => {
  let last = { at: clock.elapsed(), cpuMs: collector.cpuMs() }
  /** What the last collection left; at first everything there is may be garbage. */
  let left = 0
  let collecting = false
  const look = async () => {
    const now = { at: clock.elapsed(), cpuMs: collector.cpuMs() }
    const share = (now.cpuMs - last.cpuMs) / Math.max(1, now.at - last.at)
    last = now
    if (share > idleShare || collecting || collector.heldBytes() < left + growthBytes) return
    collecting = true
    try {
      await collector.collect()
      left = collector.heldBytes()
      // Its own work is not the server's.
      last = { at: clock.elapsed(), cpuMs: collector.cpuMs() }
    } finally {
      collecting = false
    }
  }
  return clock.every(everyMs, () => void look().catch(error => log.warn('memory.untidy', { error })))
}

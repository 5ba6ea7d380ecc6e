/** Processes that the kernel has killed because the sandbox had no memory left: counted by its control group. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../../shared/clock.ts'
import { errno } from '../../shared/errors.ts'

export interface MemoryKills {
  /** Looks at the counter, so that a kill is known to be old when nobody claims it. */
  look(): void
  /** Claims one kill of the last seconds. False when there is none that is unclaimed. */
  take(): boolean
  /** Bytes that the sandbox may use, or undefined without a limit. */
  limitBytes(): number | undefined
}

/** In the order of versions: 2, 1. */
const files = [
  { kills: 'memory.events', limit: 'memory.max' },
  { kills: 'memory/memory.oom_control', limit: 'memory/memory.limit_in_bytes' },
] as const

/** A kill that nobody has claimed by then was of a process that its parent has outlived. */
const claimableMs = 10_000
/** Version 1 says "no limit" as a number near 2^63. */
const unlimited = 2 ** 60

const read = (path: string): string | undefined => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (errno(error) !== undefined) return undefined
    throw error
  }
}

/** `dir` is where the control groups of the sandbox are mounted; without them no kill is known. */
export const createMemoryKills = ({ dir, clock }: { dir: string; clock: Clock }): MemoryKills => {
  const found = files.find(({ kills }) => read(join(dir, kills)) !== undefined)
  const count = (): number => {
    const text = found && read(join(dir, found.kills))
    return Number(/^oom_kill (\d+)$/m.exec(text ?? '')?.[1] ?? 0)
  }
  let seen = count()
  /** When each unclaimed kill was seen, oldest first. */
  let unclaimed: number[] = []
  const look = (): void => {
    const now = clock.elapsed()
    const total = count()
    unclaimed = unclaimed.filter(at => now - at < claimableMs)
    // A tree of processes can be killed at once: more than a few are never claimed.
    for (let fresh = Math.min(total - seen, 100); fresh > 0; fresh--) unclaimed.push(now)
    seen = total
  }
  return {
    look,
    take() {
      look()
      return unclaimed.shift() !== undefined
    },
    limitBytes() {
      const bytes = Number.parseInt((found && read(join(dir, found.limit))) ?? '', 10)
      return bytes > 0 && bytes < unlimited ? bytes : undefined
    },
  }
}

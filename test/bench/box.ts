/** What the whole box has, by the kernel's own figures. */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { percentile } from './report.ts'

/** Bytes by a line of /proc/meminfo. */
export const memoryOf = (name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync('/proc/meminfo', 'utf8'))?.[1]) * 1024

/** Bytes the box can still give, when nothing moves any more: the most of some looks. */
export const available = async (): Promise<number> => {
  const seen: number[] = []
  for (let look = 0; look < 5; look++) {
    await sleep(400)
    seen.push(memoryOf('MemAvailable'))
  }
  return percentile(seen, 0.5)
}

export const mounts = (): number => readFileSync('/proc/self/mountinfo', 'utf8').split('\n').length
export const links = (): number => readdirSync('/sys/class/net').length

/** The drivers of a host; each machine names the one that has it. */
import { fail } from '../../shared/errors.ts'
import type { Driver } from './driver.ts'

export interface Drivers {
  /** Makes new machines. */
  readonly preferred: Driver
  /** All that are open. */
  readonly open: readonly Driver[]
  /** Throws `driver_failed` for one that is not open: its machines are left alone until it is. */
  need(name: string): Driver
  close(): Promise<void>
}

/** `closed` says why a driver that machines name could not be opened. */
export const driversOf = (
  preferred: Driver,
  others: readonly Driver[] = [],
  closed: Readonly<Record<string, string>> = {},
): Drivers => {
  const open = [preferred, ...others]
  const byName = new Map(open.map(driver => [driver.name, driver]))
  return {
    preferred,
    open,
    need(name) {
      const found = byName.get(name)
      if (found) return found
      const reason = closed[name] ?? 'this host has no such driver'
      throw fail('driver_failed', { driver: name, step: 'open', reason })
    },
    async close() {
      await Promise.all(open.map(driver => driver.close()))
    },
  }
}

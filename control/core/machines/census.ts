/** What runs on the box, as last seen; removes what no instance claims and reports what went missing. */
import { isError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { Driver, Machine } from '../../drivers/driver.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Store } from '../store/store.ts'

export interface Census {
  found(id: string): Machine | undefined
  add(driver: string, machine: Machine): void
  forget(id: string): void
  /** Looks at the box through every driver. What a driver that cannot look was known to have stays as it was. */
  survey(): Promise<Survey>
}

export interface Survey {
  /** Ids of machines that ended since the last look, or whose root has gone. */
  readonly changed: readonly string[]
  /** Why drivers could not look. */
  readonly failures: readonly unknown[]
}

interface Context {
  readonly store: Pick<Store, 'instances'>
  readonly log: Log
  readonly machines: Map<string, { readonly driver: string; readonly machine: Machine }>
  /** Added or forgotten while a survey is under way: newer than what it sees. */
  readonly touched: Set<string>
}

/** One that cannot be removed now is tried again at the next look, and holds nobody else up. */
const removeOrphan = async ({ log }: Context, driver: Driver, machine: Machine): Promise<void> => {
  const about = { driver: driver.name, machine: machine.id }
  log.warn('machine.orphan', { ...about, phase: machine.phase })
  try {
    await driver.remove(machine.id)
  } catch (error) {
    log.warn('machine.orphan.stays', { ...about, error })
  }
}

/** Also by what is known of it no more: a machine whose row cannot be read is somebody's, and is left alone. */
const isClaimed = async ({ store, log }: Context, driver: Driver, { id }: Machine): Promise<boolean> => {
  try {
    return (await store.instances.get(id))?.driver === driver.name
  } catch (error) {
    if (!isError(error, 'unavailable')) throw error
    log.warn('machine.unreadable', { driver: driver.name, machine: id, error })
    return true
  }
}

/** Machines of one driver on the box, without those that nobody claims. */
const claimed = async (context: Context, driver: Driver): Promise<Map<string, Machine>> => {
  const { machines, touched } = context
  const seen = new Map((await driver.list()).map(machine => [machine.id, machine]))
  for (const machine of seen.values()) {
    if (touched.has(machine.id) || machines.get(machine.id)?.driver === driver.name) continue
    if (await isClaimed(context, driver, machine)) continue
    await removeOrphan(context, driver, machine)
    seen.delete(machine.id)
  }
  return seen
}

const look = async (context: Context, driver: Driver): Promise<string[]> => {
  const { machines, touched } = context
  const seen = await claimed(context, driver)
  const changed: string[] = []
  for (const [id, before] of machines) {
    if (before.driver !== driver.name || touched.has(id)) continue
    const now = seen.get(id)
    if (before.machine.phase !== 'stopped' && (!now || now.phase === 'stopped')) changed.push(id)
    else if (now?.rootGone && !before.machine.rootGone) changed.push(id)
    if (!now) machines.delete(id)
  }
  for (const machine of seen.values())
    if (!touched.has(machine.id)) machines.set(machine.id, { driver: driver.name, machine })
  return changed
}

export const census = (deps: { drivers: Drivers; store: Pick<Store, 'instances'>; log: Log }): Census => {
  const { drivers, store, log } = deps
  const context: Context = { store, log, machines: new Map(), touched: new Set() }
  const { machines, touched } = context
  return {
    found: id => machines.get(id)?.machine,
    add(driver, machine) {
      touched.add(machine.id)
      machines.set(machine.id, { driver, machine })
    },
    forget(id) {
      touched.add(id)
      machines.delete(id)
    },
    async survey() {
      touched.clear()
      const looks = await Promise.allSettled(drivers.open.map(driver => look(context, driver)))
      return {
        changed: looks.flatMap(one => (one.status === 'fulfilled' ? one.value : [])),
        failures: looks.flatMap(one => (one.status === 'rejected' ? [one.reason] : [])),
      }
    },
  }
}

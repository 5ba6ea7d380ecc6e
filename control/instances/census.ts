/** What runs on the box, as last seen; removes what no record claims and reports what went missing. */
import type { Log } from '../../shared/log.ts'
import type { Driver, Machine } from '../drivers/driver.ts'
import type { Store } from '../store/store.ts'

export interface Census {
  found(uid: string): Machine | undefined
  add(machine: Machine): void
  forget(uid: string): void
  /** Looks at the box; returns the uids whose machine ended since the last look. */
  survey(): Promise<string[]>
}

export const census = (deps: { driver: Driver; store: Store; log: Log }): Census => {
  const { driver, store, log } = deps
  let machines = new Map<string, Machine>()
  /** Added or forgotten while a survey was under way: newer than what the survey saw. */
  let touched = new Set<string>()

  /** One that cannot be removed now is tried again at the next look, and holds nobody else up. */
  const removeOrphan = async (machine: Machine): Promise<void> => {
    log.warn('machine.orphan', { machine: machine.id, phase: machine.phase })
    try {
      await driver.remove(machine.id)
    } catch (error) {
      log.warn('machine.orphan.stays', { machine: machine.id, error })
    }
  }

  return {
    found: uid => machines.get(uid),
    add(machine) {
      touched.add(machine.id)
      machines.set(machine.id, machine)
    },
    forget(uid) {
      touched.add(uid)
      machines.delete(uid)
    },
    async survey() {
      touched = new Set()
      const seen = new Map((await driver.list()).map(machine => [machine.id, machine]))
      for (const machine of seen.values())
        if (!touched.has(machine.id) && !machines.has(machine.id) && !(await store.resources.getByUid(machine.id))) {
          await removeOrphan(machine)
          seen.delete(machine.id)
        }
      const ended: string[] = []
      for (const [uid, before] of machines) {
        if (touched.has(uid)) continue
        const now = seen.get(uid)
        if (before.phase !== 'stopped' && (!now || now.phase === 'stopped')) ended.push(uid)
      }
      for (const uid of touched) {
        const newer = machines.get(uid)
        if (newer) seen.set(uid, newer)
        else seen.delete(uid)
      }
      machines = seen
      return ended
    },
  }
}

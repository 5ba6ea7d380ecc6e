/**
 * Idle sandboxes sleep. A *hold* keeps one awake: the gateway takes one for each open request or live socket, the
 * library for each call. When the last hold is gone for `afterMs` and no keep-alive process runs inside, the machine
 * is frozen; the next hold thaws it. Turns of one sandbox never overlap: whoever comes during a turn waits for it.
 */
import type { Clock } from '../../shared/clock.ts'
import type { Log } from '../../shared/log.ts'
import { messageOf } from '../../shared/errors.ts'
import type { Driver, Machine } from '../drivers/driver.ts'
import { internalOf, onNewest, runningRates, standbyRates, type Records } from './record.ts'
import type { Resource, Store } from '../store/store.ts'

export interface Standby {
  /** Wakes the sandbox if it sleeps and keeps it awake until the returned function is called. */
  hold(uid: string): Promise<() => void>
  /** The sandbox's machine is up; called again for one that is known, it changes nothing. */
  up(row: Resource, machine: Machine): Promise<void>
  /** The sandbox has no machine any more. */
  down(uid: string): void
  /** Epoch ms of the last use since start-up, or undefined. */
  lastUsed(uid: string): number | undefined
  close(): Promise<void>
}

export interface StandbyDeps {
  readonly store: Store
  readonly driver: Driver
  readonly clock: Clock
  readonly log: Log
  readonly records: Records
  /** Number of keep-alive processes that run in the sandbox. */
  readonly keepAlive: (uid: string) => Promise<number>
}

interface Entry {
  readonly uid: string
  holds: number
  usedAt: number
  asleep: boolean
  /** The turn under way, or the last one. */
  turn: Promise<void>
  /** Turns that are not over yet. */
  turning: number
  cancel: (() => void) | undefined
}

const memoryMbOf = (row: Resource): number => (row.spec as { runtime: { memory: number } }).runtime.memory

export const standby = (options: { afterMs: number }, deps: StandbyDeps): Standby => {
  const { afterMs } = options
  const { store, driver, clock, log, records, keepAlive } = deps
  const { freezer } = driver
  const entries = new Map<string, Entry>()
  let closed = false

  const noteAsleep = async (uid: string, usedAt: number) => {
    const held = (await driver.stats(uid))?.memoryBytes ?? 0
    await onNewest(store, uid, async row => {
      if (row.status !== 'DEPLOYED') return
      await records.note(row, { state: 'STANDBY', turnedAt: clock.now(), lastUsedAt: usedAt }, standbyRates(held))
    })
  }

  const noteAwake = (uid: string) =>
    onNewest(store, uid, async row => {
      if (row.status !== 'DEPLOYED') return
      const now = clock.now()
      await records.note(row, { state: 'RUNNING', turnedAt: now, lastUsedAt: now }, runningRates(memoryMbOf(row)))
    })

  const fallAsleep = async (entry: Entry) => {
    if (!freezer || entry.holds > 0 || entry.asleep || closed || entries.get(entry.uid) !== entry) return
    const awakeFor = await keepAlive(entry.uid).catch(error => {
      // A daemon that does not answer may be busy with work: leave it awake and ask again later.
      log.info('standby.unanswered', { sandbox: entry.uid, reason: messageOf(error) })
      return 1
    })
    if (awakeFor > 0) return schedule(entry, afterMs)
    if (entry.holds > 0 || closed || entries.get(entry.uid) !== entry) return
    await freezer.freeze(entry.uid)
    entry.asleep = true
    await noteAsleep(entry.uid, entry.usedAt)
    log.debug('sandbox.asleep', { sandbox: entry.uid })
  }

  const wakeUp = async (entry: Entry) => {
    if (!freezer || !entry.asleep) return
    await freezer.thaw(entry.uid)
    entry.asleep = false
    await noteAwake(entry.uid)
    log.debug('sandbox.awake', { sandbox: entry.uid })
  }

  /** Appends a turn; one that fails rejects for its caller and does not stop the next. */
  const inTurn = (entry: Entry, step: (entry: Entry) => Promise<void>): Promise<void> => {
    entry.turning++
    const turn = entry.turn
      .then(() => step(entry))
      .finally(() => {
        entry.turning--
      })
    entry.turn = turn.catch(() => {})
    return turn
  }

  /** Looks again in `ms`. A look that is due earlier stays: it finds out by itself how long the sandbox has been idle. */
  const schedule = (entry: Entry, ms: number) => {
    if (!freezer || closed || entry.cancel) return
    entry.cancel = clock.after(ms, () => {
      entry.cancel = undefined
      // Held again: the release that comes will look.
      if (entry.holds > 0) return
      const left = entry.usedAt + afterMs - clock.now()
      if (left > 0) return schedule(entry, left)
      inTurn(entry, fallAsleep).catch(error => {
        log.warn('standby.failed', { sandbox: entry.uid, error })
        if (entries.get(entry.uid) === entry) schedule(entry, afterMs)
      })
    })
  }

  const release = (entry: Entry) => {
    entry.holds--
    entry.usedAt = clock.now()
    if (entry.holds === 0 && entries.get(entry.uid) === entry) schedule(entry, afterMs)
  }

  const entryOf = (uid: string): Entry => {
    let entry = entries.get(uid)
    if (!entry) {
      entry = {
        uid,
        holds: 0,
        usedAt: clock.now(),
        asleep: false,
        turn: Promise.resolve(),
        turning: 0,
        cancel: undefined,
      }
      entries.set(uid, entry)
    }
    return entry
  }

  return {
    async hold(uid) {
      const entry = entryOf(uid)
      entry.holds++
      try {
        // A turn under way may be freezing it: wait for that before looking whether it sleeps.
        if (entry.asleep || entry.turning > 0) await inTurn(entry, wakeUp)
      } catch (error) {
        release(entry)
        throw error
      }
      let held = true
      return () => {
        if (held) release(entry)
        held = false
      }
    },
    async up(row, machine) {
      if (entries.has(row.uid)) return
      const entry = entryOf(row.uid)
      entry.usedAt = internalOf(row).lastUsedAt ?? clock.now()
      const frozen = machine.phase === 'frozen'
      entry.asleep = frozen
      // After a crash between freezing and recording it, the box is right and the record is mended.
      if (frozen && internalOf(row).state !== 'STANDBY') await noteAsleep(row.uid, entry.usedAt)
      if (!frozen && internalOf(row).state === 'STANDBY') await noteAwake(row.uid)
      if (!frozen && entry.holds === 0) schedule(entry, afterMs)
    },
    down(uid) {
      entries.get(uid)?.cancel?.()
      entries.delete(uid)
    },
    lastUsed: uid => entries.get(uid)?.usedAt,
    async close() {
      closed = true
      for (const entry of entries.values()) entry.cancel?.()
      await Promise.all([...entries.values()].map(entry => entry.turn))
    },
  }
}

/**
 * Idle machines are suspended. A *hold* keeps one awake: the gateway takes one for each open request or live socket, the
 * library for each call. When the last is gone for as long as the owner's rule says, and neither a keep-alive process nor, where
 * the rule looks for that, work of its own is found, it is frozen; the next hold thaws it. Turns of one machine never overlap.
 */
import { semaphore } from '../../../../shared/sync.ts'
import type { Machine } from '../../../drivers/driver.ts'
import type { StandbyRule } from '../../transitions/rules.ts'
import type { Instance } from '../../store/store.ts'
import { reclaimLater } from './reclaim.ts'
import { entryOf, inTurn, isKnown, type Context, type Entry, type StandbyDeps } from './context.ts'
import { noteResumed, resume, suspend, thawAgain } from './turns.ts'

export type { StandbyDeps } from './context.ts'

export interface Standby {
  /** Wakes the machine if it sleeps and keeps it awake until the returned function is called. */
  hold(id: string): Promise<() => void>
  /** The same for one that is awake; undefined, and nothing held, for any other. */
  holdAwake(id: string): (() => void) | undefined
  /** The machine is up, and suspended by this rule (never when undefined); may be repeated, with another rule. */
  up(instance: Instance, machine: Machine, rule: StandbyRule | undefined): Promise<void>
  /**
   * Runs `step` while the machine stands still. Whoever wants it waits; one that was awake is awake afterwards. Rejects with what
   * the step threw, or the driver.
   */
  still(id: string, step: () => Promise<void>): Promise<void>
  /** The machine is no more. */
  down(id: string): void
  close(): Promise<void>
}

/** One that is to sleep at once, and cannot, is not asked without a pause. */
const leastAgainMs = 100

/** Looks again in `ms`. A look that is due earlier stays: it finds out by itself how long the machine has been idle. */
const schedule = (context: Context, entry: Entry, ms: number): void => {
  const { clock, log } = context
  if (context.closed || entry.cancel) return
  entry.cancel = clock.after(ms, () => {
    entry.cancel = undefined
    // Held again: the release that comes will look.
    if (entry.holds > 0 || !entry.rule) return
    const left = entry.usedAt + entry.rule.afterMs - clock.now()
    if (left > 0) return schedule(context, entry, left)
    const again = (ms = entry.rule?.afterMs) => {
      if (isKnown(context, entry) && ms !== undefined && entry.rule)
        schedule(context, entry, Math.max(ms, leastAgainMs))
    }
    inTurn(entry, async () => {
      const look = await suspend(context, entry)
      if (look) again(look.inMs)
    }).catch(error => {
      log.warn('standby.failed', { instance: entry.id, error })
      again()
    })
  })
}

const release = (context: Context, entry: Entry): void => {
  entry.holds--
  entry.usedAt = context.clock.now()
  // What it did while it was used says nothing of what it does alone.
  entry.work = undefined
  if (entry.holds > 0 || !isKnown(context, entry)) return
  // It went while somebody was on the way to it, and nobody will say so once more.
  if (!entry.isSeen) context.entries.delete(entry.id)
  else if (entry.rule) schedule(context, entry, entry.rule.afterMs)
}

/** Gives a hold up, once. */
const releasing = (context: Context, entry: Entry): (() => void) => {
  let held = true
  return () => {
    if (held) release(context, entry)
    held = false
  }
}

const hold = async (context: Context, id: string): Promise<() => void> => {
  const entry = entryOf(context, id)
  entry.holds++
  try {
    // A turn under way may be freezing it: wait for that before looking whether it sleeps.
    if (entry.asleep || entry.turning > 0) await inTurn(entry, () => resume(context, entry))
  } catch (error) {
    release(context, entry)
    throw error
  }
  return releasing(context, entry)
}

const holdAwake = (context: Context, id: string): (() => void) | undefined => {
  const entry = context.entries.get(id)
  if (!entry || entry.asleep || entry.turning > 0) return undefined
  entry.holds++
  return releasing(context, entry)
}

const up = async (context: Context, instance: Instance, machine: Machine, rule?: StandbyRule): Promise<void> => {
  const entry = entryOf(context, instance.id)
  const isNew = !entry.isSeen
  entry.isSeen = true
  if (entry.rule?.afterMs !== rule?.afterMs) {
    // The look that is due may be too late by the new rule.
    entry.cancel?.()
    entry.cancel = undefined
  }
  entry.rule = rule
  if (isNew) {
    entry.usedAt = instance.lastUsedAt ?? context.clock.now()
    entry.asleep = machine.phase === 'frozen'
    // It stood still for a copy, or was killed before its sleep was written down: by its rule it sleeps again.
    if (entry.asleep && instance.status === 'running') await inTurn(entry, () => resume(context, entry))
    if (entry.asleep) reclaimLater(context, entry, instance.driver)
    if (!entry.asleep && instance.status === 'standby') await noteResumed(context, entry)
  }
  if (!entry.asleep && entry.holds === 0 && rule) schedule(context, entry, rule.afterMs)
}

const still = async (context: Context, id: string, step: () => Promise<void>): Promise<void> => {
  const { entries, store, drivers } = context
  const entry = entries.get(id)
  if (!entry) return step()
  return inTurn(entry, async () => {
    const instance = await store.instances.get(id)
    const freezer = instance && drivers.need(instance.driver).freezer
    if (entry.asleep || !freezer) return step()
    // Also while it is not certain: whoever comes next thaws it.
    entry.asleep = true
    try {
      await freezer.freeze(id)
      await step()
    } finally {
      await freezer.thaw(id).then(
        () => (entry.asleep = false),
        (error: unknown) => {
          thawAgain(context, entry)
          throw error
        },
      )
    }
  })
}

export const standby = (deps: StandbyDeps): Standby => {
  const entries: Context['entries'] = new Map()
  const context: Context = { ...deps, entries, reclaiming: semaphore(1), closed: false }
  return {
    hold: id => hold(context, id),
    holdAwake: id => holdAwake(context, id),
    still: (id, step) => still(context, id, step),
    up: (instance, machine, rule) => up(context, instance, machine, rule),
    down(id) {
      entries.get(id)?.cancel?.()
      entries.get(id)?.wanted?.abort()
      entries.delete(id)
    },
    async close() {
      context.closed = true
      for (const entry of entries.values()) {
        entry.cancel?.()
        entry.wanted?.abort()
      }
      await Promise.all([...entries.values()].map(entry => entry.turn))
    },
  }
}

/** Suspending and resuming one machine, and writing it down. */
import { messageOf } from '../../../../shared/errors.ts'
import { onNewest } from '../../transitions/transition.ts'
import type { Instance } from '../../store/store.ts'
import { reclaimLater } from './reclaim.ts'
import { inTurn, isKnown, type Context, type Entry } from './context.ts'

/** The machine is frozen: its processes hold memory, and that is all it costs from now on. */
const noteSuspended = async (context: Context, { id, usedAt }: Entry): Promise<void> => {
  const { store, drivers, clock, transition } = context
  let heldBytes: number | undefined
  await onNewest(async () => {
    const instance = await store.instances.get(id)
    if (instance?.status !== 'running') return
    heldBytes ??= (await drivers.need(instance.driver).stats(id))?.memoryBytes ?? 0
    const change = { turnedAt: clock.now(), lastUsedAt: usedAt, heldBytes }
    await transition.write([{ instance, event: 'suspended', change }])
  })
}

export const noteResumed = async ({ store, clock, transition }: Context, { id }: Entry): Promise<void> =>
  onNewest(async () => {
    const instance = await store.instances.get(id)
    if (instance?.status !== 'standby') return
    const now = clock.now()
    await transition.write([{ instance, event: 'resumed', change: { turnedAt: now, lastUsedAt: now } }])
  })

/** Over so long it is found out whether a machine works, at least. */
const workWindowMs = 1_000

/** Part of one processor: an idle daemon, shells that wait and servers that listen use a hundredth of it. */
const workShare = 0.05

/** When a look will tell more: once for what it does now, later while it works. Undefined when it does nothing. */
const workedSince = async ({ drivers, clock }: Context, entry: Entry, { driver }: Instance) => {
  if (!entry.rule?.cpuAware) return undefined
  const cpuMs = (await drivers.need(driver).stats(entry.id))?.cpuMs ?? 0
  const now = { cpuMs, at: clock.elapsed() }
  const { work: before } = entry
  entry.work = now
  if (!before) return { inMs: workWindowMs }
  const share = (cpuMs - before.cpuMs) / Math.max(1, now.at - before.at)
  return share > workShare ? { inMs: Math.max(workWindowMs, entry.rule.afterMs) } : undefined
}

/** Whether something in it works on without being asked. A daemon that does not answer may be busy with work. */
const isWorking = async (
  { keepAlive, isStarting, log }: Context,
  { rule }: Entry,
  { id, address }: Instance,
): Promise<boolean> => {
  if (!address) return false
  try {
    return (await keepAlive(address, rule?.tidies === true && !isStarting())) > 0
  } catch (error) {
    log.info('standby.unanswered', { instance: id, reason: messageOf(error) })
    return true
  }
}

const isIdle = (context: Context, entry: Entry): boolean => isKnown(context, entry) && entry.holds === 0

/** Freezes it unless it is used or works; resolves with when to look again, if at all. */
export const suspend = async (context: Context, entry: Entry): Promise<{ readonly inMs?: number } | undefined> => {
  const { store, drivers, log } = context
  if (!isIdle(context, entry)) return undefined
  const instance = await store.instances.get(entry.id)
  const freezer = instance && drivers.need(instance.driver).freezer
  if (!instance || !freezer) return undefined
  if (entry.asleep) {
    // It fell asleep, and that could not be written down: until it is, it is billed as if it ran. Frozen once more, as it is not certain
    // that it is where neither freezing nor thawing worked.
    await freezer.freeze(entry.id)
    await noteSuspended(context, entry)
    return undefined
  }
  if (await isWorking(context, entry, instance)) return {}
  const look = await workedSince(context, entry, instance)
  if (look) return look
  if (!isIdle(context, entry)) return undefined
  // Also while it is not certain: a machine that is half frozen would answer nobody, and whoever comes next thaws it.
  entry.asleep = true
  try {
    await freezer.freeze(entry.id)
  } catch (error) {
    await freezer.thaw(entry.id)
    entry.asleep = false
    throw error
  }
  reclaimLater(context, entry, instance.driver)
  await noteSuspended(context, entry)
  log.debug('instance.suspended', { instance: entry.id })
  return undefined
}

export const resume = async (context: Context, entry: Entry): Promise<void> => {
  const { store, drivers, log, clock, observer } = context
  if (!entry.asleep) return
  entry.wanted?.abort()
  const begun = clock.elapsed()
  const instance = await store.instances.get(entry.id)
  const freezer = instance && drivers.need(instance.driver).freezer
  await freezer?.thaw(entry.id)
  try {
    await noteResumed(context, entry)
  } catch (error) {
    // Awake, it would cost nobody anything: it sleeps on, and whoever comes next wakes it.
    await freezer?.freeze(entry.id)
    throw error
  }
  entry.asleep = false
  observer.woke(clock.elapsed() - begun)
  log.debug('instance.resumed', { instance: entry.id })
}

const thawAgainMs = 1_000

/** It stood still for a copy and does not go on: tried again until it does, or whoever wanted it has had it woken. */
export const thawAgain = (context: Context, entry: Entry): void => {
  const { store, clock, log } = context
  clock.after(thawAgainMs, () => {
    const again = async () => {
      if (!entry.asleep || !isKnown(context, entry)) return
      // One that sleeps by its rule meanwhile sleeps on.
      if ((await store.instances.get(entry.id))?.status === 'running') await resume(context, entry)
    }
    inTurn(entry, again).catch((error: unknown) => {
      log.warn('standby.thaw.failed', { instance: entry.id, error })
      thawAgain(context, entry)
    })
  })
}

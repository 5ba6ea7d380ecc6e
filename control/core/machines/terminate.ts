/** Time for what runs in a machine to end by itself, before the machine is taken from it. */
import { messageOf } from '../../../shared/errors.ts'
import { semaphore } from '../../../shared/sync.ts'
import { terminate } from '../../../shared/wire/host.ts'
import { daemonAt } from '../channel/client.ts'
import type { Connections } from '../channel/connections.ts'
import type { Driver } from '../../drivers/driver.ts'
import type { Outcome } from '../transitions/loop.ts'
import type { Address, Instance } from '../store/store.ts'
import type { Context } from './context.ts'

/** An answer is a number. */
const bounds = { timeoutMs: 5_000, maxBytes: 4_096 }
/** Between two looks: a tenth of the time that it took so far, within these. */
const [firstLookMs, longestLookMs] = [50, 5_000]

/**
 * Ends that begin at once. Each wakes a machine, whose memory may be on the disk, and has its daemon asked again and again: a thousand
 * sandboxes that are deleted together would take the box from those that stay.
 */
const atOnce = 16
/** How long one that has begun keeps its turn while it is there: those that will not end keep nobody waiting longer. */
const turnMs = 500

/**
 * Asks a machine's daemon to end what it runs, and how many processes are left. What it says is not trusted beyond this: it can
 * hold its own end up, no longer than its owner allows.
 */
export const askToEnd = async (connections: Connections, address: Address): Promise<number> =>
  (await daemonAt(connections, address, 'host', bounds).ask(terminate)).left

/** An orderly end that is under way. */
export interface Ending {
  /** Elapsed ms at which it has begun, and at which the machine is taken; undefined while it waits for its turn. */
  time: { readonly from: number; readonly until: number } | undefined
  /** Its daemon is asked and has not answered yet. */
  asking: boolean
  /** Processes that were left when it last answered; undefined before. */
  left: number | undefined
  /** Gives its turn to the next, if it still has it. */
  readonly over: () => void
}

/** Orderly ends that are under way, by the id of the instance, and their turns. */
export const createEndings = () => ({ all: new Map<string, Ending>(), turns: semaphore(atOnce) })

export type Endings = ReturnType<typeof createEndings>

const thawed = async (driver: Driver, id: string): Promise<void> => driver.freezer?.thaw(id)

/** How many processes are left; none when the daemon does not answer: then there is nobody to wait for. */
const leftIn = async ({ askToEnd, log }: Context, instance: Instance, driver: Driver): Promise<number> => {
  const { id, address } = instance
  if (!address) return 0
  try {
    // One that sleeps is woken: a frozen process hears no signal.
    await thawed(driver, id)
    // It may have been about to fall asleep.
    return await askToEnd(address).catch(() => thawed(driver, id).then(() => askToEnd(address)))
  } catch (error) {
    log.info('instance.end.unheard', { instance: id, reason: messageOf(error) })
    return 0
  }
}

const graceOf = async ({ store, rules }: Context, { owner }: Instance): Promise<number> => {
  const record = await store.resources.getByUid(owner.uid)
  return (record && rules.get(record.kind)?.workload?.graceMs?.(record)) ?? 0
}

/** Asks beside the loop that looks after all machines: a daemon that takes its time takes nobody else's. */
const ask = (context: Context, instance: Instance, driver: Driver, ending: Ending): void => {
  if (ending.asking) return
  ending.asking = true
  void leftIn(context, instance, driver).then(left => {
    ending.asking = false
    ending.left = left
    if (left === 0) context.pokeInstance(instance.id)
  })
}

/** In its turn, in order of arrival. Whoever waits for it is told when it has come. */
const begin = ({ endings, clock, pokeInstance }: Context, id: string, graceMs: number): Ending => {
  const over = Promise.withResolvers<void>()
  const ending: Ending = { time: undefined, asking: false, left: undefined, over: over.resolve }
  endings.all.set(id, ending)
  void endings.turns(async () => {
    const from = clock.elapsed()
    ending.time = { from, until: from + graceMs }
    pokeInstance(id)
    const cancel = clock.after(turnMs, over.resolve)
    await over.promise
    cancel()
  })
  return ending
}

/**
 * Undefined when the instance has ended by itself, or had its time; else in how many ms to look again, if not before its turn has come, which is told.
 */
export const awaitEnd = async (context: Context, instance: Instance, driver: Driver): Promise<Outcome | undefined> => {
  const { endings, standby, clock } = context
  const { id } = instance
  const graceMs = endings.all.has(id) ? 0 : await graceOf(context, instance)
  const ending = graceMs > 0 ? begin(context, id, graceMs) : endings.all.get(id)
  if (!ending) return undefined
  standby.down(id)
  const { time, left } = ending
  if (!time) return {}
  const now = clock.elapsed()
  if (now >= time.until || left === 0) return undefined
  ask(context, instance, driver, ending)
  const lookMs = Math.min(longestLookMs, Math.max(firstLookMs, (now - time.from) / 10))
  return { againMs: Math.min(lookMs, time.until - now) }
}

/** The instance is gone, which is when its turn is over at the latest. */
export const forgetEnd = ({ endings }: Context, id: string): void => {
  endings.all.get(id)?.over()
  endings.all.delete(id)
}

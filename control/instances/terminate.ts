/** Time for what runs in a machine to end by itself, before the machine is taken from it. */
import { messageOf } from '../../shared/errors.ts'
import { terminate } from '../../shared/wire/host.ts'
import { daemonAt } from '../channel/client.ts'
import type { Connections } from '../channel/connections.ts'
import type { Driver } from '../drivers/driver.ts'
import type { Address, Instance } from '../store/store.ts'
import type { Context } from './context.ts'

/** An answer is a number. */
const bounds = { timeoutMs: 5_000, maxBytes: 4_096 }
const [firstLookMs, longestLookMs] = [50, 500]

/**
 * Asks a machine's daemon to end what it runs, and how many processes are left. What it says is not trusted beyond this: it can
 * hold its own end up, no longer than its owner allows.
 */
export const askToEnd = async (connections: Connections, address: Address): Promise<number> =>
  (await daemonAt(connections, address, 'host', bounds).ask(terminate)).left

/** An orderly end that is under way. */
export interface Ending {
  /** Elapsed ms at which the machine is taken. */
  until: number
  /** Until the next look. */
  lookMs: number
  /** Its daemon is asked and has not answered yet. */
  asking: boolean
  /** Processes that were left when it last answered; undefined before. */
  left: number | undefined
}

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

/** In how many ms to look again whether the instance has ended by itself; undefined when it has, or had its time. */
export const awaitEnd = async (context: Context, instance: Instance, driver: Driver): Promise<number | undefined> => {
  const { endings, standby, clock } = context
  const { id } = instance
  const graceMs = endings.has(id) ? 0 : await graceOf(context, instance)
  if (graceMs > 0)
    endings.set(id, { until: clock.elapsed() + graceMs, lookMs: firstLookMs, asking: false, left: undefined })
  const ending = endings.get(id)
  if (!ending) return undefined
  standby.down(id)
  const remainingMs = ending.until - clock.elapsed()
  if (remainingMs > 0 && ending.left !== 0) {
    ask(context, instance, driver, ending)
    const againMs = Math.min(ending.lookMs, remainingMs)
    ending.lookMs = Math.min(ending.lookMs * 2, longestLookMs)
    return againMs
  }
  ending.until = 0
  return undefined
}

/** Network slots made ahead of need. */
import { fail, isError } from '../../../../shared/errors.ts'
import type { Log } from '../../../../shared/log.ts'
import type { Names } from '../names.ts'
import { slotsIn } from './block.ts'
import type { Network } from '../../../base/config/ipv4.ts'
import { makeLinks, removeLinks, slotAt, type Slot } from './link.ts'
import { ring, type Numbers } from './numbers.ts'
import { queue } from './queue.ts'

export interface Slots {
  /** A slot for the machine that nobody else has; waits for one to be made when none is ready. Throws `busy` when all are taken. */
  take(machine: string, signal?: AbortSignal): Promise<Slot>
  /** Removes what the machine has from the box; its number can be used again. What another has by now stays, whatever the machine's marker says. */
  drop(machine: string): Promise<void>
  /** Stops making and removes the spare ones. */
  close(): Promise<void>
}

interface SlotOptions {
  readonly names: Names
  readonly block: Network
  /** First of the ids of the box that the instance has claimed; undefined where machines have no users of their own. */
  readonly firstId: number | undefined
  /** Spare slots kept ready. */
  readonly ahead: number
  /** Numbers of slots that machines have, with whose they are. */
  readonly taken: ReadonlyMap<number, string>
}

interface SlotDeps {
  readonly log: Log
  readonly beforeMaking: () => Promise<void>
}

const batch = 8
const closing = () => fail('busy', { what: 'the driver is closing', next: 'try again after the restart' })

/** Makes up to `count` slots; all of them or none. */
const maker = ({ names, block, firstId }: SlotOptions, numbers: Numbers, { log, beforeMaking }: SlotDeps) => {
  return async (count: number): Promise<Slot[]> => {
    const slots = numbers.take(count).map(index => slotAt(names, block, index, firstId))
    if (slots.length === 0)
      throw fail('busy', {
        what: `all ${slotsIn(block)} network slots of this instance are taken`,
        next: 'remove sandboxes or give it a larger HUTCH_SUBNET',
      })
    try {
      await beforeMaking()
      await makeLinks(slots).catch(async error => {
        // What a host that was killed had begun may have been finished after our look at what is there.
        log.info('network.slots.again', { error })
        await removeLinks(slots)
        await makeLinks(slots)
      })
      return slots
    } catch (error) {
      // Also where they cannot be removed now: whoever gets such a number removes what is there first. Kept, all would be taken one day.
      for (const { index } of slots) numbers.free(index)
      await removeLinks(slots)
      throw error
    }
  }
}

interface Stock {
  /** The next slot that is ready, or is made for who waits. */
  next(signal: AbortSignal | undefined): Slot | Promise<Slot>
  close(): Promise<void>
}

/** Slots that are nobody's yet, made a few at a time. */
const stockOf = (options: SlotOptions, numbers: Numbers, deps: SlotDeps): Stock => {
  const { ahead } = options
  const make = maker(options, numbers, deps)
  const spare: Slot[] = []
  const waiting = queue<Slot>()
  let making: Promise<void> | undefined
  let closed = false

  const fill = async (): Promise<void> => {
    while (!closed && spare.length < ahead + waiting.length) {
      try {
        spare.push(...(await make(Math.min(batch, ahead + waiting.length - spare.length))))
      } catch (error) {
        if (!isError(error, 'busy') || waiting.length > 0) deps.log.warn('network.slots.failed', { error })
        waiting.fail(error)
        return
      }
      while (waiting.length > 0 && spare.length > 0) waiting.give(spare.shift() as Slot)
    }
  }

  const refill = () => {
    if (closed) return
    making ??= fill().finally(() => {
      making = undefined
      // Somebody may have come between the last look and the end.
      if (waiting.length > 0) refill()
    })
  }

  refill()
  return {
    next(signal) {
      if (closed) throw closing()
      const ready = waiting.length === 0 ? spare.shift() : undefined
      if (!ready) {
        const slot = waiting.wait(signal)
        refill()
        return slot
      }
      // Not at once: making slots beside a start slows the start down.
      if (spare.length <= ahead / 2) refill()
      return ready
    },
    async close() {
      closed = true
      await making
      waiting.fail(closing())
      await removeLinks(spare.splice(0))
    },
  }
}

export const networkSlots = (options: SlotOptions, deps: SlotDeps): Slots => {
  const { names, block, taken } = options
  const numbers = ring(slotsIn(block), [...taken.keys()])
  const stock = stockOf(options, numbers, deps)
  const holders = new Map(taken)
  /** Removals under way, by number. */
  const dropping = new Map<number, Promise<void>>()
  const dropOne = async (index: number): Promise<void> => {
    try {
      await removeLinks([slotAt(names, block, index, undefined)])
      holders.delete(index)
      numbers.free(index)
    } finally {
      dropping.delete(index)
    }
  }
  return {
    async take(machine, signal) {
      signal?.throwIfAborted()
      const slot = await stock.next(signal)
      holders.set(slot.index, machine)
      return slot
    },
    async drop(machine) {
      for (const [index, holder] of holders) {
        if (holder !== machine) continue
        // A create that took too long clears up beside the removal of what it left: done twice, the second would free what another has by then.
        const under = dropping.get(index) ?? dropOne(index)
        dropping.set(index, under)
        await under
      }
    },
    close: stock.close,
  }
}

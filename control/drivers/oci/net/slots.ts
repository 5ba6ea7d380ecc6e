/** Network slots made ahead of need. */
import { fail, isError } from '../../../../shared/errors.ts'
import type { Log } from '../../../../shared/log.ts'
import type { Names } from '../names.ts'
import { slotsIn } from './block.ts'
import type { Network } from './ipv4.ts'
import { makeLinks, removeLinks, slotAt, type Slot } from './link.ts'

export interface Slots {
  /** A slot that nobody else has; waits for one to be made when none is ready. Throws `busy` when all are taken. */
  take(signal?: AbortSignal): Promise<Slot>
  /** Removes the slot from the box; its number can be used again. */
  drop(index: number): Promise<void>
  /** Stops making and removes the spare ones. */
  close(): Promise<void>
}

interface Waiter {
  resolve(slot: Slot): void
  reject(error: unknown): void
}

const batch = 8

/** `taken`: numbers of slots that running machines hold. `ahead`: spare slots kept ready. */
export const networkSlots = (
  options: { names: Names; block: Network; ahead: number; taken: readonly number[] },
  deps: { log: Log; beforeMaking: () => Promise<void> },
): Slots => {
  const { names, block, ahead } = options
  const { log, beforeMaking } = deps
  const capacity = slotsIn(block)
  const used = new Set(options.taken)
  const spare: Slot[] = []
  const waiting: Waiter[] = []
  let next = 0
  let making: Promise<void> | undefined
  let closed = false

  /** Numbers go round, so that an address is not used again while connections to its last holder are remembered. */
  const reserve = (count: number): Slot[] => {
    const slots: Slot[] = []
    for (let seen = 0; seen < capacity && slots.length < count; seen++) {
      const index = next
      next = (next + 1) % capacity
      if (used.has(index)) continue
      used.add(index)
      slots.push(slotAt(names, block, index))
    }
    return slots
  }

  const make = async (count: number): Promise<void> => {
    const slots = reserve(count)
    if (slots.length === 0)
      throw fail('busy', {
        what: `all ${capacity} network slots of this instance are taken`,
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
    } catch (error) {
      await removeLinks(slots)
      for (const { index } of slots) used.delete(index)
      throw error
    }
    spare.push(...slots)
  }

  const serve = () => {
    while (waiting.length > 0 && spare.length > 0) waiting.shift()?.resolve(spare.shift() as Slot)
  }

  const fill = async (): Promise<void> => {
    while (!closed && spare.length < ahead + waiting.length) {
      try {
        await make(Math.min(batch, ahead + waiting.length - spare.length))
      } catch (error) {
        if (!isError(error, 'busy') || waiting.length > 0) log.warn('network.slots.failed', { error })
        for (const waiter of waiting.splice(0)) waiter.reject(error)
        return
      }
      serve()
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
    take(signal) {
      signal?.throwIfAborted()
      if (closed)
        return Promise.reject(fail('busy', { what: 'the driver is closing', next: 'try again after the restart' }))
      const ready = waiting.length === 0 ? spare.shift() : undefined
      if (ready) {
        // Not at once: making slots beside a start slows the start down.
        if (spare.length <= ahead / 2) refill()
        return Promise.resolve(ready)
      }
      const { promise, resolve, reject } = Promise.withResolvers<Slot>()
      const waiter = { resolve, reject }
      waiting.push(waiter)
      const giveUp = () => {
        const at = waiting.indexOf(waiter)
        if (at >= 0) waiting.splice(at, 1)
        reject(signal?.reason)
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      refill()
      return promise.finally(() => signal?.removeEventListener('abort', giveUp))
    },
    async drop(index) {
      await removeLinks([slotAt(names, block, index)])
      used.delete(index)
    },
    async close() {
      closed = true
      await making
      for (const waiter of waiting.splice(0))
        waiter.reject(fail('busy', { what: 'the driver is closing', next: 'try again after the restart' }))
      await removeLinks(spare.splice(0))
    },
  }
}

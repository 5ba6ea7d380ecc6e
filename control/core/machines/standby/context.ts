import type { Clock } from '../../../../shared/clock.ts'
import type { Log } from '../../../../shared/log.ts'
import type { semaphore } from '../../../../shared/sync.ts'
import type { Observer } from '../observer.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Transition } from '../../transitions/transition.ts'
import type { StandbyRule } from '../../transitions/rules.ts'
import type { Address, Store } from '../../store/store.ts'

export interface StandbyDeps {
  readonly store: Pick<Store, 'instances'>
  readonly drivers: Drivers
  readonly clock: Clock
  readonly log: Log
  readonly transition: Transition
  readonly observer: Pick<Observer, 'woke'>
  /**
   * Number of keep-alive processes that run in the machine whose daemon answers there. It is told whether it `sleeps` now if there are
   * none, and has not collected what its start has left.
   */
  readonly keepAlive: (address: Address, sleeps: boolean) => Promise<number>
  /** Whether machines are made or removed just now: what can wait leaves them the processor. */
  readonly isStarting: () => boolean
}

/** What is known of one instance's use. */
export interface Entry {
  readonly id: string
  /** Its machine has been seen; until then nothing of this is known, but that somebody waits for it. */
  isSeen: boolean
  holds: number
  usedAt: number
  /** When it is suspended; undefined while that is not known, and for one that never is. */
  rule: StandbyRule | undefined
  /** Processor time that it had used the last time it was looked at since its last use, and when that was (`elapsed`). */
  work: { readonly cpuMs: number; readonly at: number } | undefined
  asleep: boolean
  /** Ends the reclaim that is due or under way. */
  wanted: AbortController | undefined
  /** The turn under way, or the last one. */
  turn: Promise<void>
  /** Turns that are not over yet. */
  turning: number
  /** Cancels the look that is due, if any. */
  cancel: (() => void) | undefined
}

export interface Context extends StandbyDeps {
  readonly entries: Map<string, Entry>
  /** Reclaims one machine's memory at a time: it is slow, and nobody waits for it. */
  readonly reclaiming: ReturnType<typeof semaphore>
  closed: boolean
}

export const entryOf = ({ entries, clock }: Context, id: string): Entry => {
  let entry = entries.get(id)
  if (!entry) {
    entry = {
      id,
      isSeen: false,
      holds: 0,
      usedAt: clock.now(),
      rule: undefined,
      work: undefined,
      wanted: undefined,
      asleep: false,
      turn: Promise.resolve(),
      turning: 0,
      cancel: undefined,
    }
    entries.set(id, entry)
  }
  return entry
}

/** Neither closed nor forgotten: what is known of the instance still holds. */
export const isKnown = ({ entries, closed }: Context, entry: Entry): boolean =>
  !closed && entries.get(entry.id) === entry

/** Appends a turn; one that fails rejects for its caller and does not stop the next. */
export const inTurn = (entry: Entry, step: () => Promise<void>): Promise<void> => {
  entry.turning++
  const turn = entry.turn.then(step).finally(() => {
    entry.turning--
  })
  entry.turn = turn.catch(() => {})
  return turn
}

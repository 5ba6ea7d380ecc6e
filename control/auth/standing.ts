/**
 * Exchanges that last: a right is looked at when a request comes in, and again and again while it goes on, so that a key
 * that is revoked, or whose time is over, ends its streams too.
 */
import type { Clock } from '../../shared/clock.ts'
import type { Closing } from '../../shared/closing.ts'
import { isError, messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Exchange } from '../../shared/route.ts'

/** Twice in the second within which a stream ends after its key. */
const everyMs = 500

/** What an exchange is allowed by. */
export interface Right {
  /** The same for all that have it: it is looked at once for them. */
  readonly id: string
  /** Rejects with `unauthenticated`, `forbidden` or what was not found when it does not hold any more. */
  holds(): Promise<unknown>
}

export interface Standing {
  /** Calls `cut`, again and again, when the right has ended before the exchange, which `over` says. */
  watch(right: Right, exchange: Exchange): void
}

interface Group {
  readonly right: Right
  isOver: boolean
  readonly cuts: Set<() => void>
}

/** Whoever may not come in now; a store that does not answer is nobody's fault, and is asked again. */
const isRefusal = (error: unknown): boolean => isError(error) && error.status >= 400 && error.status < 500

export const createStanding = ({ clock, log }: { clock: Clock; log: Log }, closer: Closing): Standing => {
  const groups = new Map<string, Group>()
  const look = async (group: Group): Promise<void> => {
    const { right, cuts } = group
    try {
      await right.holds()
    } catch (error) {
      if (!isRefusal(error)) return log.warn('standing.failed', { reason: messageOf(error), error })
      if (!group.isOver) log.info('standing.ended', { reason: messageOf(error), exchanges: cuts.size })
      group.isOver = true
      for (const cut of cuts) cut()
    }
  }
  const stop = clock.every(everyMs, () => {
    for (const group of groups.values()) void look(group)
  })
  closer.add('standing', stop)
  return {
    watch(right, { over, cut }) {
      if (over.aborted) return
      const group = groups.get(right.id) ?? { right, isOver: false, cuts: new Set() }
      groups.set(right.id, group)
      group.cuts.add(cut)
      over.addEventListener('abort', () => {
        group.cuts.delete(cut)
        if (group.cuts.size === 0) groups.delete(right.id)
      })
    },
  }
}

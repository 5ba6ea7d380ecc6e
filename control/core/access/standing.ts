/**
 * Exchanges that last: a right is looked at when a request comes in, and again and again while it goes on, so that a key
 * that is revoked, or whose time is over, ends its streams too.
 */
import type { Clock } from '../../../shared/clock.ts'
import type { Closing } from '../../../shared/closing.ts'
import { isError, messageOf } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { Exchange } from '../../../shared/route.ts'

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
  /** Cuts the exchange, again and again until it is over, from when the right has ended. */
  watch(right: Right, exchange: Exchange): void
}

interface Group {
  readonly right: Right
  isOver: boolean
  readonly exchanges: Set<Exchange>
}

/** Whoever may not come in now; a store that does not answer is nobody's fault, and is asked again. */
const isRefusal = (error: unknown): boolean => isError(error) && error.status >= 400 && error.status < 500

export const createStanding = ({ clock, log }: { clock: Clock; log: Log }, closer: Closing): Standing => {
  const groups = new Map<string, Group>()
  const look = async (group: Group): Promise<void> => {
    const { right, exchanges } = group
    try {
      await right.holds()
    } catch (error) {
      if (!isRefusal(error)) return log.warn('standing.failed', { reason: messageOf(error), error })
      if (!group.isOver) log.info('standing.ended', { reason: messageOf(error), exchanges: exchanges.size })
      group.isOver = true
      for (const exchange of exchanges) exchange.cut()
    }
  }
  const stop = clock.every(everyMs, () => {
    // One that nobody needs may be needed by the next request.
    for (const [id, group] of groups)
      if (group.exchanges.size === 0) groups.delete(id)
      else void look(group)
  })
  closer.add('standing', stop)
  return {
    watch(right, exchange) {
      if (exchange.isOver()) return
      let group = groups.get(right.id)
      if (!group) {
        group = { right, isOver: false, exchanges: new Set() }
        groups.set(right.id, group)
      }
      const { exchanges } = group
      exchanges.add(exchange)
      exchange.onOver(() => void exchanges.delete(exchange))
    },
  }
}

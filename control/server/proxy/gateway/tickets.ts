/** Tickets: each stands for something once, for a minute. They are in memory only, and a restart ends them all. */
import type { Clock } from '../../../../shared/clock.ts'
import type { Ids } from '../../../../shared/ids.ts'

const lifetimeMs = 60_000
const maxTickets = 10_000

export interface Tickets<T> {
  give(what: T): { readonly ticket: string; readonly expiresAt: number }
  /** What it stands for, and never again. */
  take(ticket: string): T | undefined
}

export const createTickets = <T>({
  clock,
  ids,
}: {
  clock: Pick<Clock, 'now'>
  ids: Pick<Ids, 'secret'>
}): Tickets<T> => {
  // In the order in which they end.
  const open = new Map<string, { readonly what: T; readonly expiresAt: number }>()
  const forgetOld = () => {
    for (const [ticket, { expiresAt }] of open) {
      if (expiresAt > clock.now() && open.size < maxTickets) return
      open.delete(ticket)
    }
  }
  return {
    give(what) {
      forgetOld()
      const ticket = ids.secret(32)
      const expiresAt = clock.now() + lifetimeMs
      open.set(ticket, { what, expiresAt })
      return { ticket, expiresAt }
    },
    take(ticket) {
      const found = open.get(ticket)
      open.delete(ticket)
      return found && found.expiresAt > clock.now() ? found.what : undefined
    },
  }
}

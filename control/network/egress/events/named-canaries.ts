/** Names are asked of servers elsewhere, so one that holds a canary has let it out. */
import type { Canaries } from './canary.ts'
import type { EventLog, NewEvent } from './events.ts'

/** Tells the canaries in a host's name that was looked up or connected to; `more` is what is known besides. */
export const tellCanariesIn = (
  { canaries, events }: { readonly canaries: Canaries; readonly events: EventLog },
  host: string,
  more: Pick<NewEvent, 'requestId' | 'port' | 'protocol'>,
): void =>
  canaries
    .search(detail => events.add({ kind: 'canary', verdict: 'allowed', reason: 'canary', host, detail, ...more }))
    .text(host)

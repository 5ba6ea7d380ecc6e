/** What the engine decided, sandbox by sandbox: the last events of each, in pages and as they come. */

/** What went by, or would have. */
export interface EgressEvent {
  /** Counts up within a sandbox, from 1. */
  readonly seq: number
  /** Epoch milliseconds. */
  readonly at: number
  readonly kind: 'connection' | 'request' | 'name' | 'canary' | 'injection' | 'change'
  /** `would_block`: the policy only looks on (modes shadow and record). */
  readonly verdict: 'allowed' | 'blocked' | 'would_block'
  /** Why, in one word; `rule` is the pattern that decided, where one did. */
  readonly reason: string
  readonly rule?: string | undefined
  readonly requestId?: string | undefined
  /** Name or address that was asked for. */
  readonly host: string
  readonly port?: number | undefined
  /** Where the connection went or wanted to go. */
  readonly address?: string | undefined
  readonly protocol?: 'http' | 'tls' | 'https' | 'h2' | 'tcp' | 'dns' | undefined
  readonly method?: string | undefined
  /** Without its query. */
  readonly path?: string | undefined
  /** Name of the canary, or of what was not put in; what a new policy changes. */
  readonly detail?: string | undefined
  /** Process and command line as the sandbox says: a tenant can lie about them. */
  readonly said?: Said | undefined
}

export interface Said {
  readonly pid?: number | undefined
  readonly process?: string | undefined
  readonly command?: string | undefined
}

export type NewEvent = Omit<EgressEvent, 'seq' | 'at'>

export interface Page {
  readonly events: readonly EgressEvent[]
  /** To be given as `after` for what comes next. */
  readonly next: number
  /** Events after `after` that are not kept any more. */
  readonly lost: number
}

export interface EventLog {
  add(event: NewEvent): void
  /** Events after the one with that number, oldest first. */
  page(after: number, limit: number): Page
  /** Calls `listener` with each new event until the returned function is called. */
  follow(listener: (event: EgressEvent) => void): () => void
}

const clip = (text: string | undefined, max: number): string | undefined =>
  text !== undefined && text.length > max ? text.slice(0, max) : text

/** Keeps the last `capacity` events. Texts that tenants choose are cut, so that an event has a bounded size. */
export const createEventLog = (deps: { now: () => number; capacity: number }): EventLog => {
  const { now, capacity } = deps
  const ring: EgressEvent[] = []
  const listeners = new Set<(event: EgressEvent) => void>()
  let seq = 0
  return {
    add(event) {
      seq++
      const kept: EgressEvent = {
        ...event,
        seq,
        at: now(),
        host: clip(event.host, 255) as string,
        method: clip(event.method, 32),
        path: clip(event.path, 256),
        detail: clip(event.detail, 1_024),
      }
      ring[(seq - 1) % capacity] = kept
      for (const listener of listeners) listener(kept)
    },
    page(after, limit) {
      const oldest = Math.max(1, seq - capacity + 1)
      const from = Math.max(after + 1, oldest)
      const to = Math.min(seq, from + limit - 1)
      const events: EgressEvent[] = []
      for (let at = from; at <= to; at++) events.push(ring[(at - 1) % capacity] as EgressEvent)
      return { events, next: Math.max(to, Math.min(after, seq)), lost: Math.max(0, from - after - 1) }
    },
    follow(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

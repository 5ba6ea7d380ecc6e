/** What the engine decided, sandbox by sandbox: the last events of each, in pages and as they come. */
import type { KeptLines } from './kept.ts'

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
  readonly protocol?: 'http' | 'tls' | 'https' | 'h2' | 'tcp' | 'udp' | 'dns' | undefined
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
  /** Keeps and tells what waits. */
  flush(): void
}

/** A text of its own: a piece of a long one would keep all of that in memory. */
const clip = (text: string | undefined, max: number): string | undefined =>
  text === undefined ? undefined : Buffer.from(text.slice(0, max), 'utf8').toString('utf8')

/** Events wait so long to be kept and told: what is found out about the process that asked is then in them. */
const settleMs = 100
/** More than so many do not wait. */
const mostWaiting = 256

export interface EventLogDeps {
  readonly now: () => number
  readonly capacity: number
  readonly kept: KeptLines
  /** What was asked for, without what nobody is to read there; the same unless given. */
  readonly mask?: ((text: string) => string) | undefined
  /** Runs a task later; at once unless given. */
  readonly after?: ((ms: number, task: () => void) => unknown) | undefined
}

const isEvent = (value: unknown): value is EgressEvent =>
  typeof value === 'object' && value !== null && Number.isSafeInteger((value as EgressEvent).seq)

/** Texts that tenants choose are cut, so that an event has a bounded size; last, because half a value would not be known any more. */
const clipped = (event: EgressEvent, mask: (text: string) => string): EgressEvent => ({
  ...event,
  host: clip(mask(event.host), 255) as string,
  method: clip(event.method, 32),
  path: clip(event.path === undefined ? undefined : mask(event.path), 256),
  detail: clip(event.detail, 1_024),
})

class KeptEventLog implements EventLog {
  readonly #deps: EventLogDeps
  readonly #listeners = new Set<(event: EgressEvent) => void>()
  /** Event number n is at (n - 1) modulo capacity; undefined before the first look. */
  #ring: EgressEvent[] | undefined
  #waiting: EgressEvent[] = []
  #seq = 0

  constructor(deps: EventLogDeps) {
    this.#deps = deps
  }

  add(event: NewEvent): void {
    const { now, capacity, after, mask = (text: string) => text } = this.#deps
    const ring = this.#events()
    this.#seq++
    const made = clipped({ ...event, seq: this.#seq, at: now() }, mask)
    ring[(this.#seq - 1) % capacity] = made
    this.#waiting.push(made)
    if (!after || this.#waiting.length >= mostWaiting) this.flush()
    else if (this.#waiting.length === 1) after(settleMs, () => this.flush())
  }

  page(after: number, limit: number): Page {
    const { capacity } = this.#deps
    const ring = this.#events()
    const oldest = Math.max(1, this.#seq - capacity + 1)
    const from = Math.max(after + 1, oldest)
    const to = Math.min(this.#seq, from + limit - 1)
    const events: EgressEvent[] = []
    for (let at = from; at <= to; at++) {
      const event = ring[(at - 1) % capacity]
      // What a full disk did not take is missing after a restart.
      if (event?.seq === at) events.push(event)
    }
    return { events, next: Math.max(to, Math.min(after, this.#seq)), lost: Math.max(0, from - after - 1) }
  }

  follow(listener: (event: EgressEvent) => void): () => void {
    this.flush()
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  flush(): void {
    const waiting = this.#waiting
    if (waiting.length === 0) return
    this.#waiting = []
    this.#deps.kept.append(waiting)
    for (const event of waiting) for (const listener of this.#listeners) listener(event)
  }

  /** Read when they are first needed: most sandboxes are never asked about. */
  #events(): EgressEvent[] {
    if (this.#ring) return this.#ring
    const { capacity, kept } = this.#deps
    this.#ring = []
    for (const event of kept.load().filter(isEvent)) {
      this.#ring[(event.seq - 1) % capacity] = event
      this.#seq = Math.max(this.#seq, event.seq)
    }
    return this.#ring
  }
}

/** Keeps the last `capacity` events. */
export const createEventLog = (deps: EventLogDeps): EventLog => new KeptEventLog(deps)

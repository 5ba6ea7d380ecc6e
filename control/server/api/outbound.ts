/** What went out of a resource's machines, or was stopped: its events, live and in pages, and the list learnt from them. */
import type { Writable } from 'node:stream'
import { once } from 'node:events'
import { fail, isError } from '../../../shared/errors.ts'
import { handle, reply, route, type Bound, type Context, type Pump } from '../../../shared/route.ts'
import { described, flag, intText, s } from '../../../shared/schema.ts'
import type { Egress } from '../../network/egress/egress.ts'
import type { EgressEvent } from '../../network/egress/events/events.ts'
import { accessFor, paramOf, pathOf } from '../../core/records/address.ts'
import type { Kind } from '../../core/records/kind.ts'
import type { Store } from '../../core/store/store.ts'
import { namedRecord, paramsFor } from './named-record.ts'
import { tenantQuery } from './paging.ts'

export interface OutboundDeps {
  readonly store: Store
  /** Undefined where nothing is held to a policy. */
  readonly outbound: Pick<Egress, 'events' | 'follow' | 'learned'> | undefined
}

const event = described(
  s.object({
    seq: s.int(),
    time: s.string(),
    kind: s.enum(['connection', 'request', 'name', 'canary', 'injection', 'change']),
    verdict: s.enum(['allowed', 'blocked', 'would_block']),
    reason: s.string(),
    rule: s.optional(s.string()),
    requestId: s.optional(s.string()),
    host: s.string(),
    port: s.optional(s.int()),
    address: s.optional(s.string()),
    protocol: s.optional(s.string()),
    method: s.optional(s.string()),
    path: s.optional(s.string()),
    detail: s.optional(s.string()),
    /** Process and command line as the sandbox says: a tenant can lie about them. */
    said: s.optional(
      s.object({ pid: s.optional(s.int()), process: s.optional(s.string()), command: s.optional(s.string()) }),
    ),
  }),
  { title: 'EgressEvent' },
)

const maxPage = 1_000

/** Endpoints of one resource of a kind whose machines can be held to an outbound policy. */
export const declareOutbound = (kind: Kind) => {
  const { kind: name, plural } = kind
  const base = `${pathOf(kind)}/:${paramOf(kind)}/egress` as const
  const common = {
    family: plural,
    extra: { access: accessFor(kind, 'get') },
    params: paramsFor(kind),
    errors: ['invalid_argument', 'unauthenticated', 'forbidden', 'not_found', 'internal'],
  } as const
  return {
    events: route(`GET ${base}/events`, {
      ...common,
      id: `${plural}.egress.events`,
      summary: `Lists what a ${name} sent out or wanted to, oldest first; with follow=true as server-sent events that go on`,
      query: s.object({ ...tenantQuery, after: intText(0), limit: intText(1, maxPage), follow: flag() }),
      returns: s.object({ data: s.array(event), next: s.int(), lost: s.int() }),
      produces: ['text/event-stream'],
    }),
    learned: route(`GET ${base}/learned`, {
      ...common,
      id: `${plural}.egress.learned`,
      summary: `Proposes the smallest allow list for what a ${name} did in mode record`,
      query: s.object({ ...tenantQuery, detail: s.optional(s.enum(['host', 'method'])) }),
      returns: s.object({ allowedDomains: s.array(s.string()), complete: s.boolean() }),
    }),
  }
}

const present = ({ at, said = {}, ...rest }: EgressEvent) => ({
  ...rest,
  ...(Object.keys(said).length > 0 ? { said } : {}),
  time: new Date(at).toISOString(),
})

/** What is there, then what comes; whoever reads too slowly misses some and sees it by the numbers. */
const stream = (engine: NonNullable<OutboundDeps['outbound']>, uid: string, after: number): Pump => {
  return async (out: Writable, signal: AbortSignal) => {
    const write = (one: EgressEvent) =>
      out.writableNeedDrain ? false : out.write(`id: ${one.seq}\ndata: ${JSON.stringify(present(one))}\n\n`)
    for (let from = after; ; ) {
      const { events, next } = engine.events(uid, from, maxPage)
      if (events.length === 0) break
      for (const one of events) out.write(`id: ${one.seq}\ndata: ${JSON.stringify(present(one))}\n\n`)
      if (out.writableNeedDrain) await once(out, 'drain', { signal })
      from = next
    }
    const stop = engine.follow(uid, write)
    try {
      if (!signal.aborted) await once(signal, 'abort')
    } finally {
      stop()
    }
  }
}

export const outboundRoutes = (kind: Kind, { store, outbound }: OutboundDeps): Bound[] => {
  const declared = declareOutbound(kind)
  /** Asks the engine about a record; one that it does not know has no policy. */
  const asking = async <T>(params: Record<string, string>, context: Context, ask: (uid: string) => T): Promise<T> => {
    const { uid } = await namedRecord(kind, store, { params, context })
    try {
      return ask(uid)
    } catch (error) {
      if (!isError(error, 'not_found')) throw error
      throw fail('not_found', { kind: 'outbound policy of', name: params[paramOf(kind)] as string })
    }
  }
  const engine = () => {
    if (!outbound) throw fail('not_found', { kind: 'outbound proxy', name: 'egress' })
    return outbound
  }
  return [
    handle(declared.events, ({ params, query }, context) =>
      asking(params as Record<string, string>, context, uid => {
        const { after = 0, limit = 100, follow } = query
        const { events, next, lost } = engine().events(uid, after, limit)
        if (!follow) return { data: events.map(present), next, lost }
        const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' }
        return reply(200, headers, stream(engine(), uid, after))
      }),
    ),
    handle(declared.learned, ({ params, query }, context) =>
      asking(params as Record<string, string>, context, uid => {
        const { allowedDomains, complete } = engine().learned(uid, query.detail)
        return { allowedDomains: [...allowedDomains], complete }
      }),
    ),
  ]
}

/**
 * The HTTP client of both APIs, computed from their declared routes: the same values that the servers answer by.
 *
 *     const sandbox = createClient({ api: 'sandbox', baseUrl: metadata.url, credential: key })
 *     const { pid } = await sandbox.ask(startProcess, { body: { command: 'make' } })
 *     const log = { params: { identifier: pid }, query: { stream: 'events' } } as const
 *     for await (const { type, data } of sandbox.events(streamProcessLogs, log)) …
 */
import type { Route } from '../../route.ts'
import type { Out, Shape } from '../../schema.ts'
import { jsonOf } from './answer.ts'
import { events, open, stream, type Streamed } from './calls.ts'
import { contextOf, type ClientOptions } from './context.ts'
import type { AnyInput, CallArguments } from './input.ts'
import { targetOf } from './target.ts'

/**
 * A failure that the other side answers is an `AppError` with its code and words; `unavailable` when there is no answer,
 * `timed_out` when it takes too long, `bad_answer` when it is not what the route declares.
 */
export interface Client {
  /** The JSON answer of a route, held against its declaration. */
  ask<P extends Shape, Q extends Shape, B extends Shape, R extends Shape, E extends Shape>(
    route: Route<P, Q, B, R, E>,
    ...call: CallArguments<P, Q, B>
  ): Promise<Out<R>>
  /** The answer as bytes or lines; whatever it is, but for a failure. */
  stream<P extends Shape, Q extends Shape, B extends Shape, R extends Shape, E extends Shape>(
    route: Route<P, Q, B, R, E>,
    ...call: CallArguments<P, Q, B>
  ): Promise<Streamed>
  /** The events of a route that streams them. Leaving the loop ends the call. */
  events<P extends Shape, Q extends Shape, B extends Shape, R extends Shape, E extends Shape>(
    route: Route<P, Q, B, R, E>,
    ...call: CallArguments<P, Q, B>
  ): AsyncIterable<Out<E>>
  /** The address of a call; of a route that speaks WebSocket, for a client that does. */
  url<P extends Shape, Q extends Shape, B extends Shape, R extends Shape, E extends Shape>(
    route: Route<P, Q, B, R, E>,
    ...call: CallArguments<P, Q, B>
  ): URL
  /** Cuts calls under way: they reject. A transport that was given stays open. */
  close(): Promise<void>
}

/** Makes a client; nothing is sent before a call. Throws `invalid_argument` for an address that is none. */
export const createClient = (options: ClientOptions): Client => {
  const context = contextOf(options)
  const { origin, prefix, decoding, from, maxBytes, transport } = context
  return {
    async ask(route, ...[input = {}, options = {}]) {
      const { answer, limit } = await open(context, route, input as AnyInput, options)
      try {
        return await jsonOf(route.returns, answer, { from, maxBytes: options.maxBytes ?? maxBytes })
      } finally {
        limit.stop()
      }
    },
    stream: async (route, ...[input = {}, options = {}]) => stream(context, route, input as AnyInput, options),
    events: (route, ...[input = {}, options = {}]) =>
      events(context, route, input as AnyInput, options) as AsyncIterable<never>,
    url(route, ...[input = {}]) {
      const url = new URL(origin)
      url.href = origin + prefix + targetOf(route, input as AnyInput, decoding)
      if (route.upgrade) url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
      return url
    },
    close: async () => (options.transport ? undefined : transport.destroy()),
  }
}

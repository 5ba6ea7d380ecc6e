/**
 * The HTTP client of both APIs, computed from their declared routes: the same values that the servers answer by.
 *
 *     const sandbox = createClient({ api: 'sandbox', baseUrl: metadata.url, credential: key })
 *     const { pid } = await sandbox.ask(startProcess, { body: { command: 'make' } })
 *     for await (const { type, data } of sandbox.events(streamProcessLogs, { params: { identifier: pid }, query: { stream: 'events' } })) …
 */
import { fail, told } from '../../errors.ts'
import type { Route } from '../../route.ts'
import type { Out, Shape } from '../../schema.ts'
import { bytesOf, checked, jsonOf, throwFailure } from './answer.ts'
import { flowing, sentBy } from './body.ts'
import { contextOf, lowerCase, type ClientOptions, type Context } from './context.ts'
import { deadline, type Deadline } from './deadline.ts'
import type { AnyInput, AnyRoute, CallArguments, CallOptions } from './input.ts'
import { linesOf } from './lines.ts'
import { targetOf } from './target.ts'
import { send, type Answered } from './transport.ts'

/** An answer as it comes: read it to its end, leave a loop over it, or close it. */
export interface Streamed extends AsyncIterable<Buffer> {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Its lines, without their ends. */
  lines(): AsyncIterable<string>
  /** All of it, at most `maxBytes`: those of the call unless given. */
  bytes(maxBytes?: number): Promise<Buffer>
  close(): void
}

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

/** Sends the call; the answer is none of the failures. The deadline still runs. */
const open = async (
  { origin, prefix, decoding, headers: usual, from, timeoutMs: usualMs, transport }: Context,
  route: AnyRoute,
  input: AnyInput,
  { signal, timeoutMs = usualMs, headers }: CallOptions,
): Promise<{ answer: Answered; limit: Deadline }> => {
  if (route.upgrade) throw told('upgrade_required', `${route.id} speaks WebSocket only; url() tells where to open one`)
  const { body, headers: described } = sentBy(route, input)
  const target = prefix + targetOf(route, input, decoding)
  const given = { ...described, ...usual, ...lowerCase(headers) }
  const limit = deadline(signal, timeoutMs, afterMs => fail('timed_out', { what: `${route.id} of ${from}`, afterMs }))
  const answer = await send(
    transport,
    {
      origin,
      path: target,
      method: route.method,
      headers: given,
      body: typeof body === 'object' && 'source' in body ? flowing(body, limit) : (body ?? null),
    },
    { from, limit },
  )
  await throwFailure(route, answer)
  return { answer, limit }
}

const stream = async (context: Context, route: AnyRoute, input: AnyInput, options: CallOptions): Promise<Streamed> => {
  const { answer, limit } = await open(context, route, input, options)
  const { status, headers, pieces, leave } = answer
  limit.again(options.idleMs ?? Infinity)
  const heard = async function* () {
    for await (const piece of pieces) {
      limit.again()
      yield piece
    }
  }
  const bounds = { from: context.from, maxBytes: options.maxBytes ?? context.maxBytes }
  return {
    status,
    headers,
    [Symbol.asyncIterator]: heard,
    lines: () => linesOf(heard(), bounds),
    bytes: (maxBytes = bounds.maxBytes) => bytesOf(heard(), { ...bounds, maxBytes }),
    close: leave,
  }
}

async function* events(context: Context, route: AnyRoute, input: AnyInput, options: CallOptions) {
  const { events: shape, id } = route
  if (!shape) throw fail('invalid_argument', { field: id, reason: 'streams no events' })
  const headers = { accept: 'text/event-stream', ...options.headers }
  const streamed = await stream(context, route, input, { ...options, headers })
  for await (const line of streamed.lines()) if (line !== '') yield checked(shape, line, context.from)
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

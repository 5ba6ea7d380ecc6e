/** A call from its input to its answer, in each of the forms an answer may have. */
import { fail, reported } from '../../errors.ts'
import { bytesOf, checked, throwFailure } from './answer.ts'
import { requestBody, uploadStream } from './body.ts'
import { lowerCase, type Context } from './context.ts'
import { deadline, type Deadline } from './deadline.ts'
import type { AnyInput, AnyRoute, CallOptions } from './input.ts'
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

/** Sends the call; the answer is none of the failures. The deadline still runs. */
export const open = async (
  { origin, prefix, decoding, headers: usual, from, timeoutMs: usualMs, transport }: Context,
  route: AnyRoute,
  input: AnyInput,
  { signal, timeoutMs = usualMs, headers }: CallOptions,
): Promise<{ answer: Answered; limit: Deadline }> => {
  if (route.upgrade)
    throw reported('upgrade_required', `${route.id} speaks WebSocket only; url() tells where to open one`)
  const { body, headers: described } = requestBody(route, input)
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
      body: typeof body === 'object' && 'source' in body ? uploadStream(body, limit) : (body ?? null),
    },
    { from, limit },
  )
  await throwFailure(route, answer)
  return { answer, limit }
}

/** The answer as a stream. */
export const stream = async (
  context: Context,
  route: AnyRoute,
  input: AnyInput,
  options: CallOptions,
): Promise<Streamed> => {
  const { answer, limit } = await open(context, route, input, options)
  const { status, headers, pieces, cancel } = answer
  limit.restart(options.idleMs ?? Infinity)
  const heard = async function* () {
    for await (const piece of pieces) {
      limit.restart()
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
    close: cancel,
  }
}

/** The events of the answer, each held against its declaration. */
export async function* events(context: Context, route: AnyRoute, input: AnyInput, options: CallOptions) {
  const { events: shape, id } = route
  if (!shape) throw fail('invalid_argument', { field: id, reason: 'streams no events' })
  const headers = { accept: 'text/event-stream', ...options.headers }
  const streamed = await stream(context, route, input, { ...options, headers })
  for await (const line of streamed.lines()) if (line !== '') yield checked(shape, line, context.from)
}

/** Requests on kept connections. */
import type { Readable } from 'node:stream'
import { Agent, type Dispatcher } from 'undici'
import { fail, messageOf } from '../../errors.ts'
import type { Deadline } from './deadline.ts'

export type Sending = Omit<Dispatcher.RequestOptions, 'signal'>

/** Connections that several clients may share; to be closed by whoever made it. One of undici's, or what does the same. */
export interface Transport {
  request(
    sending: Sending & { readonly signal: AbortSignal },
  ): Promise<Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'> & { readonly body: Readable }>
  destroy(): Promise<void>
}

/** At most 128 connections per origin. No time limits of its own: each call has one. */
export const createTransport = (): Transport =>
  new Agent({ connections: 128, headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 5_000 } })

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** The body as it comes. A broken connection throws `unavailable`; leaving the loop cancels the rest. */
  readonly pieces: AsyncIterable<Buffer>
  /** Cancels what was not read. */
  cancel(): void
}

const flat = (headers: Dispatcher.ResponseData['headers']): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value ?? ''].flat().join(', ')]))

/** What `work` comes to, or the reason of `signal` at once: a request that waits for its connection does not hear it. */
const orAborted = <T>(signal: AbortSignal, work: Promise<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason)
    if (signal.aborted) leave()
    signal.addEventListener('abort', leave, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })

/** Runs one request to the head of its answer. Throws the limit's reason, or `unavailable` when there is no answer. */
export const send = async (
  transport: Transport,
  sending: Sending,
  { from, limit }: { from: string; limit: Deadline },
): Promise<Answered> => {
  const failed = (what: string, error: unknown): unknown => {
    limit.stop()
    if (limit.signal.aborted) return limit.signal.reason
    return fail('unavailable', { what: `${from} ${what}: ${messageOf(error)}`, next: 'try again in a moment' }, error)
  }
  const { signal } = limit
  const answer = await orAborted(signal, transport.request({ ...sending, signal })).catch((error: unknown) => {
    throw failed('did not answer', error)
  })
  const { statusCode, headers, body } = answer
  // A destroyed body emits an error, which would be uncaught otherwise.
  body.on('error', () => {})
  const cancel = (): void => {
    limit.stop()
    body.destroy()
  }
  return {
    status: statusCode,
    headers: flat(headers),
    cancel,
    pieces: {
      async *[Symbol.asyncIterator]() {
        try {
          for await (const piece of body) yield piece as Buffer
        } catch (error) {
          throw failed('broke its answer off', error)
        } finally {
          cancel()
        }
      },
    },
  }
}

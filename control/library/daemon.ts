/** Calls to the daemon inside a sandbox, over its address; the sandbox stays awake until the answer has been read. */
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Agent } from 'undici'
import { fail, messageOf } from '../../shared/errors.ts'
import type { Reach } from '../instances/reach.ts'
import type { Address, Owner } from '../store/store.ts'

export interface DaemonRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** Path and query, encoded. */
  readonly path: string
  /** What a 404 is about. */
  readonly subject: { readonly kind: string; readonly name: string }
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | Readable
  readonly signal?: AbortSignal
}

/** Runs `use` with the body of a 2xx answer of the owner's machine. Throws `not_found`, `invalid_argument`, `unprocessable` or `operation_failed`. */
export type DaemonCall = <T>(owner: Owner, request: DaemonRequest, use: (body: Readable) => Promise<T>) => Promise<T>

export interface DaemonClient {
  readonly call: DaemonCall
  /** Cuts what is under way: those calls reject. */
  close(): Promise<void>
}

const longestError = 64 * 1024

const reasonOf = async (body: Readable): Promise<string> => {
  const answer = (await text(body)).slice(0, longestError)
  try {
    const { error } = JSON.parse(answer) as { error?: unknown }
    if (typeof error === 'string') return error
  } catch {
    // Not JSON: the text itself is the reason.
  }
  return answer.trim() || 'no reason given'
}

const failed = (status: number, reason: string, subject: DaemonRequest['subject']) => {
  if (status === 404) return fail('not_found', subject)
  if (status === 400) return fail('invalid_argument', { field: '', reason })
  if (status < 500) return fail('unprocessable', { reason })
  return fail('operation_failed', { reason })
}

export const daemonClient = (deps: Reach): DaemonClient => {
  const { hold } = deps
  // No deadlines: a command may be silent for as long as it likes.
  const agent = new Agent({ connections: 128, headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 5_000 } })

  const send = async (upstream: Address, request: DaemonRequest, signal: AbortSignal) => {
    const { method, path, headers = {}, body } = request
    try {
      return await agent.request({
        origin: `http://${upstream.host}:${upstream.port}`,
        method,
        path,
        headers: { ...headers },
        signal,
        ...(body === undefined ? {} : { body }),
      })
    } catch (error) {
      if (signal.aborted) throw error
      throw fail(
        'unavailable',
        { what: `the sandbox did not answer: ${messageOf(error)}`, next: 'try again in a moment' },
        error,
      )
    }
  }

  return {
    async call(owner, request, use) {
      const signal = request.signal ?? new AbortController().signal
      const { upstream, release } = await hold(owner, signal)
      try {
        const { statusCode, body } = await send(upstream, request, signal)
        if (statusCode >= 200 && statusCode < 300) return await use(body)
        throw failed(statusCode, await reasonOf(body), request.subject)
      } finally {
        release()
      }
    },
    close: () => agent.destroy(),
  }
}

/** Whom a client speaks to, and how. */
import { fail } from '../../errors.ts'
import { hopByHop } from '../hop-by-hop.ts'
import type { Decoding } from '../match.ts'
import { createTransport, type Transport } from './transport.ts'

export interface ClientOptions {
  /** Whose routes are called; they write paths in two ways. */
  readonly api: 'management' | 'sandbox'
  /** The host's address, or a sandbox's (`metadata.url`). */
  readonly baseUrl: string
  /** API key. */
  readonly credential?: string
  /** Sent with every call. */
  readonly headers?: Readonly<Record<string, string>>
  /** Most bytes of a JSON answer, or of one line of a stream. Default 64 MiB. */
  readonly maxBytes?: number
  /** Longest time to a whole JSON answer, or to the head of a stream, ms. Default 60 s; `Infinity` is none. */
  readonly timeoutMs?: number
  /** What errors call the other side. Default `baseUrl`. */
  readonly name?: string
  /** Connections to use; without them the client has its own. */
  readonly transport?: Transport
}

export interface Context {
  readonly origin: string
  /** What stands before the path of every route. */
  readonly prefix: string
  readonly decoding: Decoding
  readonly headers: Readonly<Record<string, string>>
  readonly from: string
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly transport: Transport
}

/** Headers of a call in lower case. Throws `invalid_argument` for those that are about the connection. */
export const lowerCase = (headers: Readonly<Record<string, string>> = {}): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const lower = name.toLowerCase()
      if (hopByHop.has(lower) || lower === 'content-length' || lower === 'host')
        throw fail('invalid_argument', { field: `headers.${name}`, reason: 'is for the connection to say' })
      return [lower, value]
    }),
  )

/** Throws `invalid_argument` for an address that is none. */
export const contextOf = (options: ClientOptions): Context => {
  const { api, baseUrl, credential, maxBytes = 64 * 1024 * 1024, timeoutMs = 60_000 } = options
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (!base || !/^https?:$/.test(base.protocol) || base.search || base.hash)
    throw fail('invalid_argument', { field: 'baseUrl', reason: 'must be an http or https URL without a query' })
  return {
    origin: base.origin,
    prefix: base.pathname.replace(/\/+$/, ''),
    decoding: api === 'sandbox' ? 'whole' : 'segments',
    headers: {
      ...(credential === undefined ? {} : { authorization: `Bearer ${credential}` }),
      ...lowerCase(options.headers),
    },
    from: options.name ?? baseUrl,
    maxBytes,
    timeoutMs,
    transport: options.transport ?? createTransport(),
  }
}

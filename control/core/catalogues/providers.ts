/** Reads from the providers that connections name: bounded, and to the addresses only that the operator allows. */
import { fail, messageOf } from '../../../shared/errors.ts'
import type { Catalogues } from './catalogues.ts'
import type { ConnectionReads, ReadConnection } from '../models/connection-reads.ts'

export type Connection = ReadConnection

/** Settings and opened secrets; `baseUrl` is where it is asked. */
interface Read {
  readonly name: string
  readonly values: Readonly<Record<string, string>>
}

export interface Providers {
  /**
   * The JSON at a path below the connection's base address. Throws `invalid_argument` for an address that is not allowed,
   * `provider_failed` for whatever goes wrong there.
   */
  read(connection: Connection, path: string): Promise<unknown>
}

const boundMs = 10_000
const mostBytes = 4 * 1024 * 1024

const addressOf = ({ name, values }: Read, fallback: string | undefined, allowed: readonly string[]): URL => {
  const given = values['baseUrl'] || fallback
  const refuse = (reason: string) =>
    fail('invalid_argument', { field: 'spec.config.baseUrl', reason: `of connection "${name}" ${reason}` })
  if (!given) throw refuse('is missing')
  const url = URL.canParse(given) ? new URL(given) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol) || url.username || url.search || url.hash)
    throw refuse('must be an http or https address without user, query and fragment')
  if (!allowed.includes(url.origin))
    throw refuse(`is at ${url.origin}, which the operator of this host does not allow (HUTCH_PROVIDERS)`)
  return url
}

/** `{{name}}` becomes that value of the connection; a header that asks for one it has not is left out. */
const headersFor = ({ name, values }: Read, templates: Readonly<Record<string, string>>): Headers => {
  const headers = new Headers({ accept: 'application/json' })
  for (const [header, template] of Object.entries(templates)) {
    const names = [...template.matchAll(/\{\{(\w+)\}\}/g)].map(match => match[1] as string)
    if (names.some(one => !values[one])) continue
    const value = template.replaceAll(/\{\{(\w+)\}\}/g, (_, one: string) => values[one] as string)
    // Nothing of the value is said: it may be a secret.
    if (!/^[\x20-\x7e]*$/.test(value))
      throw fail('invalid_argument', {
        field: `spec.secret.${names[0] ?? ''}`,
        reason: `of connection "${name}" has characters that no header can carry`,
      })
    headers.set(header, value)
  }
  return headers
}

/** The path with each of its segments encoded; none of them leads upwards. */
const encoded = (path: string): string =>
  path
    .split('/')
    .map(segment => {
      if (['.', '..'].includes(segment)) throw fail('invalid_argument', { field: 'modelId', reason: 'is no name' })
      return encodeURIComponent(segment)
    })
    .join('/')

const textOf = async (response: Response): Promise<string> => {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of response.body ?? []) {
    size += piece.byteLength
    if (size > mostBytes) throw new Error(`it answered more than ${mostBytes} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

const jsonAt = async (url: URL, headers: Headers): Promise<unknown> => {
  // A redirect could lead anywhere.
  const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(boundMs) })
  const text = await textOf(response)
  if (!response.ok) throw new Error(`it answered ${response.status}`)
  return JSON.parse(text) as unknown
}

const reasonOf = (error: unknown): string => {
  if (error instanceof SyntaxError) return 'it did not answer JSON'
  if (error instanceof Error && error.name === 'TimeoutError') return `it did not answer in ${boundMs / 1000} s`
  return error instanceof TypeError ? `it cannot be reached: ${messageOf(error.cause ?? error)}` : messageOf(error)
}

/** `allowed` are origins: `https://api.openai.com`, `http://127.0.0.1:11434`. */
export const createProviders = (
  allowed: readonly string[],
  { catalogues, reads }: { catalogues: Catalogues; reads: ConnectionReads },
): Providers => ({
  async read(given, path) {
    const { name, integration, config, secret } = given
    if (reads.knows(integration))
      return path === '/endpointConfigurations' ? reads.endpoints(integration) : reads.read(given, encoded(path))
    const connection = { name, values: { ...config, ...secret } }
    const entry = (await catalogues.read('integrations')).find(one => one.name === integration)
    const base = addressOf(connection, entry?.additionalInfos?.['baseUrl'], allowed)
    const url = new URL(base.origin)
    url.pathname = `${base.pathname.replace(/\/+$/, '')}${encoded(path)}`
    const headers = headersFor(connection, entry?.headers ?? {})
    try {
      return await jsonAt(url, headers)
    } catch (error) {
      throw fail('provider_failed', { connection: name, reason: reasonOf(error) }, error)
    }
  },
})

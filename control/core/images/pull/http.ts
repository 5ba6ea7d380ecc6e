/** HTTP to registries: each connection is judged, redirects are followed by hand, credentials stay with their host. */
import { isIP } from 'node:net'
import type { Readable } from 'node:stream'
import { Agent, ProxyAgent, request, type Dispatcher } from 'undici'
import type { Proxies, RegistryRule } from '../../../base/config.ts'
import { errno, fail, isError, messageOf } from '../../../../shared/errors.ts'
import { checkAddress, guardedLookup, targetOf, type Target } from './reach.ts'

export interface Answer {
  readonly status: number
  /** Of who answered, which after a redirect may be another. */
  readonly origin: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Readable & { text(): Promise<string>; dump(): Promise<void> }
}

export interface Http {
  /**
   * Follows redirects, at most five, without `authorization` to another origin. Throws `forbidden` where no pull may go, and
   * `unavailable` when nobody answers.
   */
  get(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Answer>
  close(): Promise<void>
}

export interface HttpOptions {
  readonly registries: readonly RegistryRule[]
  readonly proxies: Proxies
  /** PEM: authorities beside those of the system. */
  readonly authorities: readonly string[]
}

const connectMs = 10_000
/** Silence that ends a request. */
const silentMs = 60_000
const mostRedirects = 5
const redirects = [301, 302, 303, 307, 308]

const isExcepted = ({ hostname, port }: Target, except: readonly string[]): boolean =>
  except.some(word => {
    if (word === '*') return true
    const [, name = '', digits] = /^\.?(.+?)(?::(\d+))?$/.exec(word) ?? []
    return (hostname === name || hostname.endsWith(`.${name}`)) && (digits === undefined || Number(digits) === port)
  })

/** The proxy that leads there, or undefined. */
const proxyFor = (target: Target, proxies: Proxies): string | undefined => {
  const text = target.plain ? proxies.http : proxies.https
  if (!text || isExcepted(target, proxies.except)) return undefined
  const url = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (url && /^https?:$/.test(url.protocol)) return url.href
  throw fail('forbidden', { reason: `the proxy of this machine for ${target.hostname} is none that pulls can use` })
}

const agentFor = (target: Target, { proxies, authorities }: HttpOptions): Dispatcher => {
  const ca = authorities.length > 0 ? { ca: [...authorities] } : {}
  const bounds = { headersTimeout: silentMs, bodyTimeout: silentMs, connections: 4 }
  const proxy = proxyFor(target, proxies)
  // Names are the proxy's to resolve then, and what it lets through is its operator's to say.
  if (proxy) return new ProxyAgent({ ...bounds, uri: proxy, requestTls: ca, proxyTls: ca })
  return new Agent({ ...bounds, connect: { ...ca, lookup: guardedLookup(target), timeout: connectMs } })
}

const failure = (error: unknown, { host }: URL, signal: AbortSignal): unknown => {
  if (isError(error) || signal.aborted) return error
  const { cause } = error as { cause?: unknown }
  if (isError(cause)) return cause
  const code = errno(error)
  const why = code === 'ENOTFOUND' ? 'no such host' : messageOf(error)
  return fail('unavailable', { what: `registry ${host} does not answer: ${why}`, next: 'try again' }, error)
}

export const createHttp = (options: HttpOptions): Http => {
  const agents = new Map<string, Dispatcher>()
  const admitted = (url: URL, from?: URL): Target => {
    const target = targetOf(url, options.registries)
    if (!target) {
      const what = from ? `${from.host} leads to ${url.host}, which` : url.host
      throw fail('forbidden', { reason: `${what} is not among the registries of this host (HUTCH_REGISTRIES)` })
    }
    if (isIP(target.hostname) !== 0) checkAddress(target.hostname, target)
    return target
  }
  /** One for each origin: what may be reached under one name is nothing that another one may use. */
  const agentOf = (url: URL, from: URL | undefined): Dispatcher => {
    const target = admitted(url, from)
    const found = agents.get(url.origin) ?? agentFor(target, options)
    agents.set(url.origin, found)
    return found
  }
  return {
    async get(start, headers, signal) {
      let url = start
      for (let hops = 0; ; hops++) {
        const dispatcher = agentOf(url, hops > 0 ? start : undefined)
        const { authorization, ...plain } = headers
        const sent = authorization !== undefined && url.origin === start.origin ? headers : plain
        let answer: Dispatcher.ResponseData
        try {
          answer = await request(url.href, { dispatcher, method: 'GET', headers: sent, signal })
        } catch (error) {
          throw failure(error, url, signal)
        }
        const { statusCode: status, headers: received, body } = answer
        const { location } = received
        if (!redirects.includes(status) || typeof location !== 'string')
          return { status, headers: received, body, origin: url.origin }
        await body.dump()
        const next = URL.parse(location, url.href)
        if (!next || hops >= mostRedirects || (url.protocol === 'https:' && next.protocol !== 'https:'))
          throw fail('forbidden', { reason: `${url.host} redirects where a pull does not follow` })
        url = next
      }
    },
    async close() {
      await Promise.all([...agents.values()].map(agent => agent.destroy()))
    },
  }
}

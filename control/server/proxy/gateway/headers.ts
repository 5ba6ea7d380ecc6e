/** Which headers go on to a workload and back, and which never do. */
import { hopByHop, namedByConnection } from '../../../../shared/http/hop-by-hop.ts'
import { setsAccess, withoutAccess } from './cookies.ts'

/** What of a request its workload does not get. */
export interface Withheld {
  /** Lower-case names: our credentials, which tenant code must never see, and what only we may say. */
  readonly headers: ReadonlySet<string>
  /** Cookies of an origin that is not the workload's: a browser sends them with every path of it. */
  readonly cookies: boolean
  /** By which address the client came. */
  readonly address?: boolean
}

/** A page's address may hold the key or the ticket it was opened with. */
const withoutSecrets = (referer: string): string =>
  referer.replace(/\?.*$/s, query => {
    const search = new URLSearchParams(query.slice(1))
    return search.has('token') || search.has('ticket') ? '' : query
  })

/** Whether a client came by TLS. */
export const cameByTls = (socket: object): boolean => 'encrypted' in socket

/** A header's value for the workload; undefined for none. */
const passedOn = (name: string, value: string, { cookies }: Withheld): string | undefined => {
  if (name === 'cookie') return cookies ? undefined : withoutAccess(value)
  return name === 'referer' ? withoutSecrets(value) : value
}

/**
 * Request headers for the workload as a flat list: hop-by-hop ones and those in `withheld` left out, `identity` (names
 * and values) and forwarding facts added.
 */
export const requestHeaders = (
  raw: readonly string[],
  options: {
    withheld: Withheld
    identity: readonly string[]
    remote: string
    host: string
    /** The client came by TLS. */
    isSecure: boolean
    keepUpgrade?: boolean
  },
): string[] => {
  const { withheld, identity, remote, host, isSecure, keepUpgrade } = options
  const headers: string[] = []
  const named = namedByConnection(raw)
  let forwarded = ''
  let authorizations = 0
  // What a proxy in front has said holds where it is the one that speaks TLS.
  let proto = isSecure ? 'https' : 'http'
  for (let i = 0; i < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase()
    // Applications that see headers as variables (CGI, WSGI) cannot tell an underscore from a hyphen.
    if (withheld.headers.has(name.includes('_') ? name.replaceAll('_', '-') : name)) continue
    // There is only one (RFC 9110, section 5.3): a further one nobody has looked at, and it may hold our credential.
    if (name === 'authorization' && authorizations++ > 0) continue
    if (name === 'x-forwarded-for') forwarded += `${raw[i + 1]}, `
    else if (name === 'x-forwarded-proto') proto = isSecure ? 'https' : (raw[i + 1] as string)
    else if (keepUpgrade && (name === 'connection' || name === 'upgrade')) headers.push(name, raw[i + 1] as string)
    else if (!hopByHop.has(name) && !named.has(name) && name !== 'x-forwarded-host' && name !== 'expect') {
      const value = passedOn(name, raw[i + 1] as string, withheld)
      if (value !== undefined) headers.push(name, value)
    }
  }
  headers.push(...identity, 'x-forwarded-for', `${forwarded}${remote}`)
  if (!withheld.address) headers.push('x-forwarded-host', host, 'x-forwarded-proto', proto)
  return headers
}

/** How the answers of a workload are changed for whom they go to. */
export interface AnswerRules {
  /** What our address has before the workload's. */
  readonly base: string
  /** Lower-case prefixes of headers that only we send; but for the cursor of a stream, which is the daemon's. */
  readonly ours: readonly string[]
  /** The address is one of the API's own origin: pages get an origin that nobody else has. */
  readonly shared: boolean
  /** The origin's cookies are not the workload's to set. */
  readonly cookies: boolean
}

/** Applications run, but a page can neither act as the API's origin nor read what that keeps in the browser. */
export const opaqueOrigin = 'sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads'

/** Where a workload sends the client: it does not know what stands before its own addresses. */
const outside = (location: string, base: string): string =>
  /^\/(?!\/)/.test(location) && !`${location}/`.startsWith(`${base}/`) ? `${base}${location}` : location

/** What counts for all of an origin, whichever page of it said so. */
export const originWide: ReadonlySet<string> = new Set([
  'alt-svc',
  'clear-site-data',
  'nel',
  'report-to',
  'strict-transport-security',
])

const upgrading: ReadonlySet<string> = new Set(['connection', 'upgrade'])

/** Response headers for the client, from raw names and values in turn. */
export const responseHeaders = (
  raw: readonly (Buffer | string)[],
  { base, ours, shared, cookies, keepUpgrade = false }: AnswerRules & { readonly keepUpgrade?: boolean },
): string[] => {
  const headers: string[] = []
  let referrerPolicy = false
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]?.toString('latin1') ?? ''
    const value = raw[i + 1]?.toString('latin1') ?? ''
    const lower = name.toLowerCase()
    if (hopByHop.has(lower) && !(keepUpgrade && upgrading.has(lower))) continue
    if (ours.some(prefix => lower.startsWith(prefix) && lower !== `${prefix}cursor`)) continue
    if (shared && originWide.has(lower)) continue
    // Behind a path of ours no page takes over the rest of the origin: the terminal's address may hold a key.
    if (base !== '' && lower === 'service-worker-allowed') continue
    if (lower === 'set-cookie' && (cookies || setsAccess(value))) continue
    if (lower === 'referrer-policy') referrerPolicy = true
    headers.push(name, lower === 'location' ? outside(value, base) : value)
  }
  if (shared) {
    headers.push('content-security-policy', opaqueOrigin)
    // Other workloads have the same origin in their addresses, and a link to them would tell the whole address.
    if (!referrerPolicy) headers.push('referrer-policy', 'no-referrer')
  }
  return headers
}

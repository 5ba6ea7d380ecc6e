/**
 * Names of hosts in one spelling, so that a comparison of two is a comparison of text. What has a second spelling that some
 * program reads otherwise (`0x7f.1`, `127.1`, percent signs, non-ASCII letters on the wire) has none here and is refused.
 */
import { isIPv6 } from 'node:net'
import { domainToASCII } from 'node:url'

const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/
/** A last label that makes WHATWG's parser and inet_aton read the whole as an IPv4 address. */
const numeric = /^(?:[0-9]+|0x[0-9a-f]*)$/
const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/

/** Exactly four decimal numbers without leading zeros. */
export const isIpv4 = (host: string): boolean => ipv4.test(host)

/** An address, not a name: IPv4, or IPv6 in brackets. */
export const isAddress = (host: string): boolean => host.startsWith('[') || isIpv4(host)

const canonicalIpv6 = (text: string): string | undefined =>
  isIPv6(text) && !text.includes('%') ? new URL(`http://[${text}]`).hostname : undefined

/**
 * The one spelling of a host from the wire: lower case, no trailing dot, IPv6 in brackets and compressed; undefined when it is
 * neither a DNS name nor an address in its usual notation.
 */
export const canonicalHost = (text: string): string | undefined => {
  if (text.startsWith('[')) return text.endsWith(']') ? canonicalIpv6(text.slice(1, -1)) : undefined
  const name = (text.endsWith('.') ? text.slice(0, -1) : text).toLowerCase()
  if (name.length === 0 || name.length > 253) return undefined
  const labels = name.split('.')
  if (!labels.every(part => label.test(part))) return undefined
  if (numeric.test(labels.at(-1) as string)) return isIpv4(name) && text === name ? name : undefined
  return name
}

/** The same for a host that a person wrote, who may use the letters of any language. */
export const hostFromPerson = (text: string): string | undefined => {
  // oxlint-disable-next-line no-control-regex
  if (/^[\x00-\x7f]*$/.test(text)) return canonicalHost(text)
  const ascii = domainToASCII(text)
  // A name whose letters fold to digits and dots would become an address.
  return ascii && !isAddress(ascii) ? canonicalHost(ascii) : undefined
}

export interface Authority {
  readonly host: string
  readonly port: number
}

/** Reads `host[:port]`; undefined for user names, empty or impossible ports, and hosts that have no canonical spelling. */
export const parseAuthority = (text: string, defaultPort: number): Authority | undefined => {
  const bracket = text.lastIndexOf(']')
  const colon = text.indexOf(':', bracket + 1)
  const host = canonicalHost(colon < 0 ? text : text.slice(0, colon))
  if (host === undefined) return undefined
  if (colon < 0) return { host, port: defaultPort }
  const digits = text.slice(colon + 1)
  const port = Number(digits)
  return /^[1-9]\d{0,4}$/.test(digits) && port <= 65_535 ? { host, port } : undefined
}

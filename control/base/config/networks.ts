/** Networks in the configuration. */
import { isIP } from 'node:net'
import { allowedNetwork, parseAddress, parseNetwork, subnetOf, type Network } from './ipv4.ts'
import { listOf, refuse, textOf, urlOf, type Environment } from './values.ts'

/** For private use (RFC 1918), and what carriers share among themselves (RFC 6598). */
const ranges = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10']

const within = (inner: Network, outer: Network): boolean =>
  inner.prefix >= outer.prefix &&
  Math.floor(inner.base / 2 ** (32 - outer.prefix)) * 2 ** (32 - outer.prefix) === outer.base

/** The network that addresses of sandboxes are cut from. A public one is refused: its real owners could not be reached from this box. */
export const subnetFrom = (env: Environment): string => {
  const text = textOf(env, 'HUTCH_SUBNET') || '10.89.0.0/16'
  const subnet = subnetOf(text)
  if (!ranges.some(range => within(subnet, parseNetwork(range) as Network)))
    throw refuse(
      'HUTCH_SUBNET',
      `"${text}" is a public network: whoever really has these addresses could not be reached from this box; take a part of ${ranges.join(', ')}`,
    )
  return text
}

/** Private networks that sandboxes may reach. */
export const allowedFrom = (env: Environment): string[] => {
  const networks = listOf(env, 'HUTCH_ALLOW_NETWORKS')
  for (const network of networks) allowedNetwork(network)
  return networks
}

/** Proxies in front of this host. */
export const trustedProxiesFrom = (env: Environment): string[] => {
  const name = 'HUTCH_TRUSTED_PROXIES'
  const found = listOf(env, name)
  for (const text of found) {
    const [address = '', bits, ...more] = text.split('/')
    const most = isIP(address) === 6 ? 128 : 32
    if (
      isIP(address) === 0 ||
      more.length > 0 ||
      (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most))
    )
      throw refuse(name, `"${text}" is neither an address nor a network like 10.0.0.0/8`)
  }
  return found
}

/** A name server by IPv4 address, with or without a port. */
export interface NameServer {
  readonly host: string
  readonly port: number
}

export const nameServerOf = (text: string): NameServer | undefined => {
  const [host = '', digits = '53', ...more] = text.split(':')
  const port = Number(digits)
  if (parseAddress(host) === undefined || !/^[1-9]\d{0,4}$/.test(digits) || port > 65_535 || more.length > 0)
    return undefined
  return { host, port }
}

/** Name servers of one variable; none for those of this box. */
export const resolversFrom = (env: Environment, name: string): NameServer[] =>
  listOf(env, name).map(text => {
    const server = nameServerOf(text)
    if (server) return server
    throw refuse(name, `"${text}" is not an IPv4 address, with or without a port`)
  })

/** Addresses of this box that egress gateways leave from. */
export const egressAddressesFrom = (env: Environment): string[] => {
  const addresses = listOf(env, 'HUTCH_EGRESS_ADDRESSES')
  for (const address of addresses)
    if (parseAddress(address) === undefined)
      throw refuse('HUTCH_EGRESS_ADDRESSES', `"${address}" is not an IPv4 address`)
  return [...new Set(addresses)]
}

/** What the outbound proxy connects through: TLS to it is not spoken, for what it carries is. */
export const egressProxyFrom = (env: Environment): string => {
  const url = urlOf(env, 'HUTCH_EGRESS_PROXY')
  if (url && (!url.startsWith('http://') || new URL(url).pathname !== '/'))
    throw refuse('HUTCH_EGRESS_PROXY', `"${url}" is not a proxy such as http://10.0.0.8:3128`)
  return url
}

/** Origins of providers that connections may lead to: `https://api.openai.com`. */
export const originsFrom = (env: Environment, name: string, example: string): string[] =>
  listOf(env, name).map(text => {
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url && ['http:', 'https:'].includes(url.protocol) && [url.origin, `${url.origin}/`].includes(text))
      return url.origin
    throw refuse(name, `"${text}" is not an origin such as ${example}`)
  })

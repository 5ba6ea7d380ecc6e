/**
 * Where a pull may connect to. A tenant chooses the registry, and the registry chooses where it redirects to, so every address is judged:
 * the host by the operator's list, and what its name resolves to once, for the very connection that is made.
 */
import { lookup as systemLookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { RegistryRule } from '../../../base/config.ts'
import { fail } from '../../../../shared/errors.ts'
import { closedNetworks, metadataServices } from '../../../../shared/special-networks.ts'

/** Of IPv6 only 2000::/3 is the internet, and these are not: tunnels that end in IPv4, benchmarks, documentation. */
const closed6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'] as const
const metadata = [...metadataServices, 'fd00:ec2::254'] as const

const listOf = (networks: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits) list.addSubnet(address, Number(bits), family)
    else list.addAddress(address, family)
  }
  return list
}

const closed = listOf([...closedNetworks, ...closed6])
const internet6 = listOf(['2000::/3'])
const never = listOf(metadata)

const isOwn = (address: string): boolean =>
  Object.values(networkInterfaces()).some(all => all?.some(one => one.address === address))

/** Whether anybody's registry may be there. */
const isPublic = (address: string): boolean => {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  if (family === 'ipv6' && !internet6.check(address, family)) return false
  return !closed.check(address, family) && !isOwn(address)
}

/** What an address is to whoever connects where somebody else says: the internet, this network, or where clouds keep credentials. */
export const standingOf = (address: string): 'public' | 'closed' | 'never' => {
  const plainAddress = address.replace(/^::ffff:(?=\d+\.)/i, '')
  if (never.check(plainAddress, isIP(plainAddress) === 6 ? 'ipv6' : 'ipv4')) return 'never'
  return isPublic(plainAddress) ? 'public' : 'closed'
}

export interface Target {
  readonly hostname: string
  readonly port: number
  readonly plain: boolean
  /** The operator has named it: its address may be a private one. */
  readonly isNamed: boolean
}

const matches = ({ host, port, plain }: RegistryRule, to: Omit<Target, 'isNamed'>): boolean => {
  if (plain !== to.plain) return false
  if (host === '*') return true
  const isHost = host.startsWith('*.') ? to.hostname.endsWith(host.slice(1)) : host === to.hostname
  return isHost && to.port === (port ?? (plain ? 80 : 443))
}

/** What a URL leads to, when the operator's list lets a pull go there; undefined when it does not. */
export const targetOf = (
  { protocol, hostname: host, port }: URL,
  rules: readonly RegistryRule[],
): Target | undefined => {
  if (protocol !== 'https:' && protocol !== 'http:') return undefined
  const plain = protocol === 'http:'
  const hostname = host.replace(/^\[|\]$/g, '').toLowerCase()
  const to = { hostname, plain, port: Number(port || (plain ? 80 : 443)) }
  const found = rules.filter(rule => matches(rule, to))
  return found.length > 0 ? { ...to, isNamed: found.some(({ host }) => host !== '*') } : undefined
}

/** The URL that a registry is asked at, by how the operator has named it, else with TLS; undefined when it is not listed. */
export const registryUrl = (host: string, rules: readonly RegistryRule[]): URL | undefined => {
  const name = host === 'docker.io' ? 'registry-1.docker.io' : host
  const urls = ['https', 'http'].map(scheme => URL.parse(`${scheme}://${name}/`)).filter(url => url !== null)
  return urls.find(url => targetOf(url, rules)?.isNamed) ?? urls.find(url => targetOf(url, rules))
}

/** Throws `forbidden` for an address where no pull may go. */
export const checkAddress = (address: string, { hostname, isNamed }: Target): void => {
  const standing = standingOf(address)
  if (standing === 'never')
    throw fail('forbidden', {
      reason: `${hostname} is at ${address}, where clouds keep credentials: never pulled from`,
    })
  if (!isNamed && standing === 'closed')
    throw fail('forbidden', {
      reason: `${hostname} is at ${address}, which is not public; the operator can name it in HUTCH_REGISTRIES`,
    })
}

/** Resolves the target's name for one connection, which goes to what was judged here and nowhere else. */
export const guardedLookup =
  (target: Target, resolve: typeof systemLookup = systemLookup): LookupFunction =>
  (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      try {
        if (error) throw error
        for (const { address } of addresses) checkAddress(address, target)
      } catch (refused) {
        done(refused as NodeJS.ErrnoException, '')
        return
      }
      const [first] = addresses
      if (options.all) done(null, addresses)
      else done(null, first?.address ?? '', first?.family)
    })
  }

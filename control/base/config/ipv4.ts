/** IPv4 networks as numbers. */
import { fail } from '../../../shared/errors.ts'

export interface Network {
  /** First address as an unsigned 32-bit number. */
  readonly base: number
  readonly prefix: number
}

export const sizeOf = ({ prefix }: Network): number => 2 ** (32 - prefix)

/** The number of a dotted address, or undefined. */
export const parseAddress = (text: string): number | undefined => {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every(part => /^\d{1,3}$/.test(part) && Number(part) < 256)) return undefined
  return parts.reduce((sum, part) => sum * 256 + Number(part), 0)
}

export const addressText = (address: number): string =>
  [24, 16, 8, 0].map(shift => Math.floor(address / 2 ** shift) % 256).join('.')

/** `10.89.0.0/16`, or a lone address as /32; undefined when it is neither. Host bits are cleared. */
export const parseNetwork = (text: string): Network | undefined => {
  const [address = '', prefixText = '32'] = text.split('/')
  const value = parseAddress(address)
  const prefix = Number(prefixText)
  if (value === undefined || !/^\d{1,2}$/.test(prefixText) || prefix > 32) return undefined
  const size = 2 ** (32 - prefix)
  return { base: Math.floor(value / size) * size, prefix }
}

export const networkText = ({ base, prefix }: Network): string => `${addressText(base)}/${prefix}`

export const overlaps = (a: Network, b: Network): boolean => a.base < b.base + sizeOf(b) && b.base < a.base + sizeOf(a)

/** The configured network; throws `invalid_argument` unless it is an IPv4 network of /8 to /24. */
export const subnetOf = (text: string): Network => {
  const network = parseNetwork(text)
  if (network && network.prefix >= 8 && network.prefix <= 24) return network
  throw fail('invalid_argument', {
    field: 'HUTCH_SUBNET',
    reason: `"${text}" is not an IPv4 network between /8 and /24, like 10.89.0.0/16`,
  })
}

/** A network that machines may reach though it is private; throws `invalid_argument` when it is none. */
export const allowedNetwork = (text: string): Network => {
  const network = parseNetwork(text)
  if (network && network.prefix >= 8) return network
  throw fail('invalid_argument', {
    field: 'HUTCH_ALLOW_NETWORKS',
    reason: `"${text}" is not an IPv4 network of /8 or smaller, like 192.168.7.0/24`,
  })
}

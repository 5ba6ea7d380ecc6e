/** Addresses and networks, as written in tunnel documents and as ip(8) understands them. */
import { isIP } from 'node:net'

export type Family = 4 | 6

export interface Network {
  readonly family: Family
  readonly address: string
  readonly prefix: number
}

export interface Endpoint {
  /** An address without brackets, or a host name. */
  readonly host: string
  readonly port: number
}

export const familyOf = (address: string): Family | undefined => {
  const family = address.includes('%') ? 0 : isIP(address)
  return family === 4 || family === 6 ? family : undefined
}

/** A network such as `10.0.0.0/8` or `fd00::/8`; undefined when the text is none. */
export const parseNetwork = (text: string): Network | undefined => {
  const [, address = '', digits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  const family = familyOf(address)
  const prefix = Number(digits)
  return family && prefix <= (family === 4 ? 32 : 128) ? { family, address, prefix } : undefined
}

export const networkText = ({ address, prefix }: Network): string => `${address}/${prefix}`

/** The address as a number of `bits` bits. */
const bitsOf = (address: string, family: Family): bigint => {
  if (family === 4) return address.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n)
  // The URL parser writes every form of an IPv6 address, dotted ones included, in hexadecimal groups.
  const [left = '', right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const groups = (part: string | undefined) => (part ? part.split(':') : [])
  const before = groups(left)
  const after = groups(right)
  const zeros = Array<string>(8 - before.length - after.length).fill('0')
  return [...before, ...zeros, ...after].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n)
}

const textOf = (bits: bigint, family: Family): string => {
  const [count, width] = family === 4 ? ([4, 8n] as const) : ([8, 16n] as const)
  const parts = Array.from(
    { length: count },
    (_, index) => (bits >> (width * BigInt(count - 1 - index))) & ((1n << width) - 1n),
  )
  return parts.map(part => part.toString(family === 4 ? 10 : 16)).join(family === 4 ? '.' : ':')
}

/** The network of an address with its host bits cleared, as routes need it. */
export const masked = ({ family, address, prefix }: Network): Network => {
  const shift = BigInt((family === 4 ? 32 : 128) - prefix)
  return { family, prefix, address: textOf((bitsOf(address, family) >> shift) << shift, family) }
}

/** Parses `host:port` or `[v6]:port`; undefined when the text is neither. */
export const parseEndpoint = (text: string): Endpoint | undefined => {
  const [, bracketed, plain = '', digits = ''] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  if (port < 1 || port > 65_535) return undefined
  if (bracketed !== undefined) return familyOf(bracketed) === 6 ? { host: bracketed, port } : undefined
  return /^[a-zA-Z0-9_]([a-zA-Z0-9_.-]{0,252})$/.test(plain) ? { host: plain, port } : undefined
}

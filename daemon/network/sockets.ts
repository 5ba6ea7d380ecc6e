/** Sockets of this network namespace, read from /proc/net as proc(5) lays it out; spelt as ss(8) does. */
import { readFile } from 'node:fs/promises'
import { SocketAddress } from 'node:net'
import { endianness } from 'node:os'
import { join } from 'node:path'
import { errno } from '../../shared/errors.ts'

export type Protocol = 'tcp' | 'udp'

export interface Socket {
  readonly protocol: Protocol
  readonly localAddr: string
  readonly localPort: number
  readonly remoteAddr: string
  readonly remotePort: number
  readonly state: string
  /** As in the `socket:[…]` links of /proc/PID/fd. */
  readonly inode: string
}

// include/net/tcp_states.h
const states: Readonly<Record<string, string>> = {
  '01': 'ESTAB',
  '02': 'SYN-SENT',
  '03': 'SYN-RECV',
  '04': 'FIN-WAIT-1',
  '05': 'FIN-WAIT-2',
  '06': 'TIME-WAIT',
  '07': 'UNCONN',
  '08': 'CLOSE-WAIT',
  '09': 'LAST-ACK',
  '0A': 'LISTEN',
  '0B': 'CLOSING',
  '0C': 'SYN-RECV',
}

/** The kernel prints each 32-bit word in host order; addresses are in network order. */
const bytesOf = (hex: string): Buffer => {
  const bytes = Buffer.from(hex, 'hex')
  return endianness() === 'LE' ? bytes.swap32() : bytes
}

/** `0100007F` → `127.0.0.1`; 32 digits give an IPv6 address in its short form, without brackets. */
export const addressOf = (hex: string): string => {
  const bytes = bytesOf(hex)
  if (bytes.length === 4) return bytes.join('.')
  const groups = bytes.toString('hex').match(/.{4}/g) ?? []
  return new SocketAddress({ address: groups.join(':'), family: 'ipv6' }).address
}

/** gVisor puts the inode into a column of its own width. */
const line = /^\s*\d+: ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]+):([0-9A-F]{4}) ([0-9A-F]{2}) \S+ \S+ \S+ +\d+ +\d+ +(\d+)/

/** Parses one of the tables; the heading and lines of another form are skipped. */
export const parseSockets = (protocol: Protocol, table: string): Socket[] =>
  table.split('\n').flatMap(text => {
    const match = line.exec(text)
    if (!match) return []
    const [, local = '', localPort = '', remote = '', remotePort = '', state = '', inode = ''] = match
    return {
      protocol,
      localAddr: addressOf(local),
      localPort: Number.parseInt(localPort, 16),
      remoteAddr: addressOf(remote),
      remotePort: Number.parseInt(remotePort, 16),
      state: states[state] ?? 'UNKNOWN',
      inode,
    }
  })

const tables = [
  ['tcp', 'tcp'],
  ['tcp', 'tcp6'],
  ['udp', 'udp'],
  ['udp', 'udp6'],
] as const

/** All TCP and UDP sockets, or undefined when this system shows none of the tables. */
export const readSockets = async (proc = '/proc'): Promise<Socket[] | undefined> => {
  const read = await Promise.all(
    tables.map(async ([protocol, file]) => {
      try {
        return parseSockets(protocol, await readFile(join(proc, 'net', file), 'latin1'))
      } catch (error) {
        // A kernel without IPv6 has no tcp6; one that hides /proc/net has none at all.
        if (errno(error) === undefined) throw error
        return undefined
      }
    }),
  )
  const found = read.filter(sockets => sockets !== undefined)
  return found.length === 0 ? undefined : found.flat()
}

/** Where datagrams that the network redirected here wanted to go (`conntrack.c`). */
import { join } from 'node:path'
import { getSystemErrorName } from 'node:util'
import { nativeAddon } from '../native-addon.ts'

interface Addon {
  wantedBy(address: number, port: number, sender: number, senderPort: number): [number, number] | number | undefined
}

const addon = nativeAddon<Addon>(join(import.meta.dirname, 'build/conntrack.node'))

/** An IPv4 address and a port. */
export interface Place {
  readonly address: string
  readonly port: number
}

const numberOf = (address: string): number => address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)

const textOf = (address: number): string => [24, 16, 8, 0].map(shift => (address >>> shift) & 255).join('.')

/**
 * Address and port that a datagram from `sender` had before it was redirected to `own`; undefined when the kernel knows of no such flow.
 * Asks the kernel, which takes some microseconds. Throws when it cannot be asked.
 */
export const datagramDestination = (own: Place, sender: Place): Place | undefined => {
  const found = addon().wantedBy(numberOf(own.address), own.port, numberOf(sender.address), sender.port)
  if (typeof found === 'number') throw new Error(`the kernel's table of connections: ${getSystemErrorName(found)}`)
  return found && { address: textOf(found[0]), port: found[1] }
}

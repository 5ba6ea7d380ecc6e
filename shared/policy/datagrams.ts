/**
 * Where datagrams (UDP) may go: to what the owner has written as an address. They are not read and a name proves nothing about them, so no
 * name and no `*` lets any out.
 *
 *     203.0.113.7          this address, any port but those below
 *     203.0.113.7:51820    this address and port, and no TCP
 *     203.0.113.0/24       this network (in a bypass list only: in the others what follows a slash is a path)
 */
import { BlockList } from 'node:net'
import { isIpv4 } from './host.ts'

export interface DatagramPlaces {
  /** The entry that lets them go there, or undefined. */
  find(address: string, port: number): string | undefined
}

/** Names are asked of the host's resolver only, and QUIC has to go on with TCP, where it is read. */
const closedPorts: ReadonlySet<number> = new Set([53, 443])

const form = /^(\d+\.\d+\.\d+\.\d+)(?::([1-9]\d{0,4})|\/(\d|[12]\d|3[0-2]))?$/

const read = (entry: string) => {
  const [, address = '', port, bits] = form.exec(entry) ?? []
  if (!isIpv4(address) || Number(port ?? 1) > 65_535) return undefined
  return {
    address,
    port: port === undefined ? undefined : Number(port),
    bits: bits === undefined ? undefined : Number(bits),
  }
}

/** Those entries of a list of domains, and of a bypass list, that let datagrams out. */
export const datagramEntries = (domains: readonly string[], bypass: readonly string[]): string[] => [
  ...new Set([
    ...domains.filter(entry => read(entry)?.bits === undefined && read(entry) !== undefined),
    ...bypass.filter(entry => read(entry)?.port === undefined && read(entry) !== undefined),
  ]),
]

/** What is none of the forms matches nothing. */
export const compileDatagrams = (entries: readonly string[]): DatagramPlaces => {
  const exact = new Map<string, string>()
  const networks: { entry: string; list: BlockList }[] = []
  for (const entry of entries) {
    const place = read(entry)
    if (!place) continue
    if (place.bits === undefined) exact.set(entry, entry)
    else {
      const list = new BlockList()
      list.addSubnet(place.address, place.bits)
      networks.push({ entry, list })
    }
  }
  return {
    find(address, port) {
      if (closedPorts.has(port) || !isIpv4(address)) return undefined
      return (
        exact.get(address) ?? exact.get(`${address}:${port}`) ?? networks.find(({ list }) => list.check(address))?.entry
      )
    },
  }
}

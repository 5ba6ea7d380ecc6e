/** Entries of a bypass list, in the forms NO_PROXY knows. */
import { BlockList } from 'node:net'
import { hostFromPerson, isAddress, isIpv4 } from './host.ts'

export interface Bypass {
  /** The entry that lets the host pass, or undefined. */
  find(host: string): string | undefined
}

const network = /^(\d+\.\d+\.\d+\.\d+)\/(\d|[12]\d|3[0-2])$/

/** `name`, `.name` and `*.name` (all below it), an IPv4 address, a network `10.0.0.0/8`. What is none of these matches nothing. */
export const compileBypass = (entries: readonly string[]): Bypass => {
  const exact = new Map<string, string>()
  const below = new Map<string, string>()
  const networks: { entry: string; list: BlockList }[] = []
  for (const entry of entries) {
    const [, address, bits] = network.exec(entry) ?? []
    if (address !== undefined && isIpv4(address)) {
      const list = new BlockList()
      list.addSubnet(address, Number(bits))
      networks.push({ entry, list })
      continue
    }
    const parent = /^\*?\.(.+)$/.exec(entry)?.[1]
    const name = hostFromPerson(parent ?? entry)
    if (name !== undefined && !(parent !== undefined && isAddress(name)))
      (parent === undefined ? exact : below).set(name, entry)
  }
  return {
    find(host) {
      const found = exact.get(host)
      if (found !== undefined) return found
      if (isIpv4(host)) return networks.find(({ list }) => list.check(host))?.entry
      if (isAddress(host)) return undefined
      for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
        const entry = below.get(host.slice(dot + 1))
        if (entry !== undefined) return entry
      }
      return undefined
    },
  }
}

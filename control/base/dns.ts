/** What the public DNS says of the domains of customers. */
import { randomBytes } from 'node:crypto'
import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { errno, fail } from '../../shared/errors.ts'
import type { NameServer } from './config/networks.ts'

export interface Dns {
  /** TXT records of a name, each as one text; none where there are none. Throws `unavailable` when no resolver answers. */
  txt(name: string): Promise<string[]>
  /**
   * Whether a name, or every name below it where it begins with `*.`, leads to a target: by a CNAME, or by an address that the
   * target has too, as at providers that put addresses in place of a CNAME. Throws `unavailable`.
   */
  leadsTo(name: string, target: string): Promise<boolean>
}

const usualMs = 3_000
/** CNAMEs of CNAMEs that are followed. */
const maxSteps = 8

type Ask = <T>(name: string, look: (resolver: Resolver) => Promise<T[]>) => Promise<T[]>

const asking =
  (servers: readonly NameServer[], timeout: number): Ask =>
  async (name, look) => {
    const resolver = new Resolver({ timeout, tries: 2 })
    if (servers.length > 0) resolver.setServers(servers.map(({ host, port }) => `${host}:${port}`))
    try {
      return await look(resolver)
    } catch (error) {
      const code = errno(error)
      if (code === 'ENOTFOUND' || code === 'ENODATA') return []
      throw fail('unavailable', { what: `DNS cannot be asked for ${name} (${code})`, next: 'try again' }, error)
    }
  }

const addressesOf = async (ask: Ask, name: string): Promise<string[]> => {
  if (isIP(name)) return [name]
  const [v4, v6] = await Promise.all([ask(name, one => one.resolve4(name)), ask(name, one => one.resolve6(name))])
  return [...v4, ...v6]
}

const plain = (name: string): string => name.toLowerCase().replace(/\.$/, '')

const isAliasOf = async (ask: Ask, given: string, target: string): Promise<boolean> => {
  let name = given
  for (let step = 0; step < maxSteps; step++) {
    const [next] = await ask(name, one => one.resolveCname(name))
    if (next === undefined) return false
    name = plain(next)
    if (name === plain(target)) return true
  }
  return false
}

/** The servers are asked in turn, each for `timeoutMs`; without any, those of this machine. */
export const createDns = (servers: readonly NameServer[], timeoutMs = usualMs): Dns => {
  const ask = asking(servers, timeoutMs)
  return {
    txt: async name => (await ask(name, one => one.resolveTxt(name))).map(parts => parts.join('')),
    async leadsTo(given, target) {
      // A name that nobody has chosen is there only by the wildcard.
      const name = given.startsWith('*.') ? `hutch-${randomBytes(6).toString('hex')}${given.slice(1)}` : given
      if (!isIP(target) && (await isAliasOf(ask, name, target))) return true
      const [found, wanted] = await Promise.all([addressesOf(ask, name), addressesOf(ask, target)])
      return found.some(address => wanted.includes(address))
    },
  }
}

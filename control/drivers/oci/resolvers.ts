/** Name servers for machines: the host's, unless those are on its loopback, where no machine can reach them. */
import { readFile } from 'node:fs/promises'
import { errno } from '../../../shared/errors.ts'
import { parseAddress } from '../../base/config/ipv4.ts'

/** The last is what systemd-resolved really asks when /etc/resolv.conf names its stub. */
const files = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf']
/** Public resolvers of last resort, the same that container engines fall back to. */
const fallback = ['8.8.8.8', '8.8.4.4']

/** IPv4 name servers in the text of a resolv.conf, loopback ones left out. */
export const nameservers = (text: string): string[] =>
  [...text.matchAll(/^\s*nameserver\s+(\S+)/gm)]
    .map(match => match[1] as string)
    .filter(address => parseAddress(address) !== undefined && !address.startsWith('127.'))

export const hostResolvers = async (): Promise<string[]> => {
  for (const file of files) {
    const text = await readFile(file, 'utf8').catch(error => {
      if (errno(error) === 'ENOENT') return ''
      throw error
    })
    const found = nameservers(text)
    if (found.length > 0) return found.slice(0, 3)
  }
  return fallback
}

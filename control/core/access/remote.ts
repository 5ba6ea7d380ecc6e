/** Who is at the other end, to count attempts by and to write down. */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** IPv4 in the form of IPv6, as a socket of both tells it, is IPv4. */
const plain = (address: string): string => address.trim().replace(/^::ffff:(?=\d+\.)/i, '')

const listOf = (trusted: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const text of trusted) {
    const [address = '', bits] = text.split('/')
    if (bits === undefined) list.addAddress(address, familyOf(address))
    else list.addSubnet(address, Number(bits), familyOf(address))
  }
  return list
}

/**
 * Whom the proxies in front name: of `X-Forwarded-For`, read from its end, the first address that is no proxy of `trusted`. Whoever
 * comes by another way says nothing about themselves. A name that is no address ends the chain.
 */
export const remoteBehind = (trusted: readonly string[]) => {
  const proxies = listOf(trusted)
  const isProxy = (address: string): boolean => isIP(address) !== 0 && proxies.check(address, familyOf(address))
  return ({
    socket,
    headers,
  }: Pick<IncomingMessage, 'headers'> & { socket: { remoteAddress?: string | undefined } }) => {
    let remote = plain(socket.remoteAddress ?? '')
    const named = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').map(plain)
    while (isProxy(remote) && isIP(named.at(-1) ?? '') !== 0) remote = named.pop() as string
    return remote
  }
}

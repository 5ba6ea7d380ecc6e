/**
 * Addresses that no sandbox reaches through the proxy, whatever its policy says: the proxy stands on the host, and what the host
 * can reach (itself, its networks, metadata services) is not the internet.
 */
import { BlockList } from 'node:net'
import { fail } from '../../../shared/errors.ts'
import { isIpv4 } from '../../../shared/policy/host.ts'
import { closedNetworks, metadataServices } from '../../../shared/special-networks.ts'

export interface Fence {
  /** Whether a connection may go there. IPv6 is closed as a whole. */
  isOpen(address: string): boolean
  /** In a network that the operator has opened. */
  isPrivate(address: string): boolean
}

/** Networks as CIDR. Throws `invalid_argument` naming `field`. */
const networkList = (networks: readonly string[], field: string): BlockList => {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits = '32', ...more] = network.split('/')
    if (!isIpv4(address) || !/^(\d|[12]\d|3[0-2])$/.test(bits) || more.length > 0)
      throw fail('invalid_argument', { field, reason: `"${network}" is not an IPv4 network` })
    list.addSubnet(address, Number(bits))
  }
  return list
}

/**
 * `allowNetworks` are private networks the operator opens, `closedNetworks` what stays closed all the same. `ownAddresses` are asked for at each look: this host's addresses are
 * closed even when they are public, but for those the operator names.
 */
export const createFence = (options: {
  readonly allowNetworks: readonly string[]
  readonly closedNetworks: readonly string[]
  readonly ownAddresses: () => ReadonlySet<string>
}): Fence => {
  const closed = networkList(closedNetworks, 'closedNetworks')
  const allowed = networkList(options.allowNetworks, 'allowNetworks')
  const never = networkList([...metadataServices, ...options.closedNetworks], 'closedNetworks')
  return {
    isPrivate: address => allowed.check(address),
    isOpen: address =>
      isIpv4(address) &&
      !never.check(address) &&
      (allowed.check(address) || !(closed.check(address) || options.ownAddresses().has(address))),
  }
}

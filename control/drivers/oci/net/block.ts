/** Each instance takes one block of the configured subnet for itself. */
import { fail } from '../../../../shared/errors.ts'
import { run, tool } from '../command.ts'
import type { Names } from '../names.ts'
import { claimantOf, claimsOf, releaseClaim, releaseClaims, renewClaim, takeClaim, type Claim } from '../registry.ts'
import { networkText, overlaps, parseNetwork, sizeOf, type Network } from '../../../base/config/ipv4.ts'

const kind = 'blocks'
const nameOf = (network: Network) => networkText(network).replace('/', '_')

interface BlockClaim extends Claim {
  readonly network: Network
}

/** Blocks of all instances on the box. */
export const claims = async (): Promise<BlockClaim[]> =>
  (await claimsOf(kind)).flatMap(claim => {
    const network = parseNetwork(claim.name.replace('_', '/'))
    return network ? [{ ...claim, network }] : []
  })

/** Networks that an address or route of the box uses, the default route aside. */
const inUse = async (): Promise<Network[]> => {
  const ip = tool('ip')
  const text = await run({ step: 'read routes', file: ip, args: ['-4', '-o', 'route', 'show', 'table', 'all'] })
  const words = text.split('\n').flatMap(line => line.split(/\s+/).slice(0, 2))
  return words.map(parseNetwork).filter(network => network !== undefined && network.prefix > 0) as Network[]
}

/** One thirty-second of the subnet, between /20 and /24 or as small as the subnet itself. */
const blockPrefix = (subnet: Network): number => Math.max(subnet.prefix, Math.min(24, Math.max(20, subnet.prefix + 5)))

/**
 * The instance's block: the one it has claimed before, or the first free one from a place its tag decides.
 * Throws `busy` when the subnet is used up.
 */
export const claimBlock = async (subnet: Network, names: Names, dataDir: string): Promise<Network> => {
  const claimant = await claimantOf(names.tag, dataDir)
  const mine = (await claims()).find(claim => claim.tag === names.tag && overlaps(claim.network, subnet))
  if (mine) {
    if (mine.dataDir !== dataDir)
      throw fail('driver_failed', {
        driver: 'oci',
        step: 'address blocks',
        reason: `"${mine.dataDir}" has the same tag ${names.tag}; use another path for HUTCH_DATA_DIR`,
      })
    await renewClaim(kind, mine.name, claimant)
    return mine.network
  }
  const prefix = blockPrefix(subnet)
  const count = 2 ** (prefix - subnet.prefix)
  const used = await inUse()
  const start = Number.parseInt(names.tag, 16) % count
  for (let step = 0; step < count; step++) {
    const block = { base: subnet.base + ((start + step) % count) * 2 ** (32 - prefix), prefix }
    const others = [...used, ...(await claims()).map(claim => claim.network)]
    if (others.some(network => overlaps(network, block))) continue
    if (!(await takeClaim(kind, nameOf(block), claimant))) continue
    // A block of another size has another name: of two that take overlapping ones at once, one at least sees the other here.
    if (!(await claims()).some(claim => claim.tag !== names.tag && overlaps(claim.network, block))) return block
    await releaseClaim(kind, nameOf(block))
  }
  throw fail('busy', {
    what: `every block of ${networkText(subnet)} is used by another instance, an interface or a route of this box`,
    next: 'set HUTCH_SUBNET to a free network, or end instances that are no longer needed',
  })
}

export const releaseBlock = (names: Names): Promise<void> => releaseClaims(kind, names.tag)

/** Machines that fit into a block: two addresses each, and the last two are the outbound proxy's. */
export const slotsIn = (block: Network): number => sizeOf(block) / 2 - 1

/**
 * Each instance takes one block of the configured subnet for itself. A claim is a file in `/run/hutch/blocks`, made by
 * `link(2)`, so that it exists whole or not at all and only one of several that want it gets it.
 */
import { link, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errno, fail } from '../../../../shared/errors.ts'
import { parse, s, type Out } from '../../../../shared/schema.ts'
import { run, tool } from '../command.ts'
import { registryDir, type Names } from '../names.ts'
import { networkText, overlaps, parseNetwork, sizeOf, type Network } from '../../../config/ipv4.ts'

const shape = s.object({ tag: s.string(), dataDir: s.string(), pid: s.int() })

export interface Claim extends Out<typeof shape> {
  readonly file: string
  readonly network: Network
}

const blocksDir = join(registryDir, 'blocks')
const fileOf = (network: Network) => join(blocksDir, networkText(network).replace('/', '_'))

const read = (text: string, file: string): Out<typeof shape> => {
  try {
    return parse(shape, JSON.parse(text), 'config')
  } catch (error) {
    const reason = `${file} is no claim of an address block; find out whose it is and remove it`
    throw fail('driver_failed', { driver: 'oci', step: 'address blocks', reason }, error)
  }
}

/** Claims of all instances on the box. */
export const claims = async (): Promise<Claim[]> => {
  await mkdir(blocksDir, { recursive: true, mode: 0o755 })
  const found: Claim[] = []
  for (const name of await readdir(blocksDir)) {
    const network = parseNetwork(name.replace('_', '/'))
    if (!network) continue
    const file = join(blocksDir, name)
    const text = await readFile(file, 'utf8').catch(error => {
      // Given back between the listing and the reading.
      if (errno(error) === 'ENOENT') return undefined
      throw error
    })
    if (text !== undefined) found.push({ ...read(text, file), file, network })
  }
  return found
}

/** Networks that an address or route of the box uses, the default route aside. */
const inUse = async (): Promise<Network[]> => {
  const ip = tool('ip')
  const text = await run({ step: 'read routes', file: ip, args: ['-4', '-o', 'route', 'show', 'table', 'all'] })
  const words = text.split('\n').flatMap(line => line.split(/\s+/).slice(0, 2))
  return words.map(parseNetwork).filter(network => network !== undefined && network.prefix > 0) as Network[]
}

/** Writes beside the claims and moves it there with `place`, so that no reader ever sees a part. */
const placed = async <T>(content: string, names: Names, place: (beside: string) => Promise<T>): Promise<T> => {
  const beside = join(registryDir, `.${names.tag}.${process.pid}.claim`)
  await writeFile(beside, content)
  try {
    return await place(beside)
  } finally {
    await rm(beside, { force: true })
  }
}

const take = (network: Network, content: string, names: Names): Promise<boolean> =>
  placed(content, names, async beside => {
    try {
      await link(beside, fileOf(network))
      return true
    } catch (error) {
      if (errno(error) === 'EEXIST') return false
      throw error
    }
  })

/** One thirty-second of the subnet, between /20 and /24 or as small as the subnet itself. */
const blockPrefix = (subnet: Network): number => Math.max(subnet.prefix, Math.min(24, Math.max(20, subnet.prefix + 5)))

/**
 * The instance's block: the one it has claimed before, or the first free one from a place its tag decides.
 * Throws `busy` when the subnet is used up.
 */
export const claimBlock = async (subnet: Network, names: Names, dataDir: string): Promise<Network> => {
  const content = JSON.stringify({ tag: names.tag, dataDir, pid: process.pid })
  const mine = (await claims()).find(claim => claim.tag === names.tag && overlaps(claim.network, subnet))
  if (mine) {
    if (mine.dataDir !== dataDir)
      throw fail('driver_failed', {
        driver: 'oci',
        step: 'address blocks',
        reason: `"${mine.dataDir}" has the same tag ${names.tag}; use another path for HUTCH_DATA_DIR`,
      })
    await placed(content, names, beside => rename(beside, mine.file))
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
    if (await take(block, content, names)) return block
  }
  throw fail('busy', {
    what: `every block of ${networkText(subnet)} is used by another instance, an interface or a route of this box`,
    next: 'set HUTCH_SUBNET to a free network, or end instances that are no longer needed',
  })
}

export const releaseBlock = async (names: Names): Promise<void> => {
  for (const claim of await claims()) if (claim.tag === names.tag) await rm(claim.file, { force: true })
}

/** Machines that fit into a block: two addresses each, and the last two are the outbound proxy's. */
export const slotsIn = (block: Network): number => sizeOf(block) / 2 - 1

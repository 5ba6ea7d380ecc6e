/** Opens the egress engine at the address that held machines are sent to. */
import { getServers } from 'node:dns'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../../shared/clock.ts'
import type { Config } from '../../base/config.ts'
import { nameServerOf } from '../../base/config/networks.ts'
import type { Outbound as DriverOutbound } from '../../drivers/driver.ts'
import { createEgress } from '../egress/create.ts'
import type { Server } from '../egress/dns/query.ts'
import type { Egress, EgressDeps } from '../egress/egress.ts'
import type { Sealer } from '../../core/secrets/secrets.ts'
import { authorityOf } from './authority.ts'
import type { EventFiles } from './event-files.ts'
import type { Members } from './members.ts'
import type { Owners } from './outbound.ts'
import { authoritiesIn } from './surroundings.ts'

/** Events of a sandbox that can be read. */
export const keptEvents = 1_000

const ownAddressesForMs = 5_000

/** This host's addresses, read again after a while: a list of a thousand links takes a moment. */
const ownAddresses = (clock: Clock): (() => ReadonlySet<string>) => {
  let known: ReadonlySet<string> = new Set()
  let until = Number.NEGATIVE_INFINITY
  return () => {
    if (clock.elapsed() < until) return known
    const lists = Object.values(networkInterfaces())
    known = new Set(lists.flatMap(list => (list ?? []).map(({ address }) => address)))
    until = clock.elapsed() + ownAddressesForMs
    return known
  }
}

/** Those of this box; the ones that have only IPv6 are left out. */
const hostServers = (): Server[] =>
  getServers()
    .map(nameServerOf)
    .filter(server => server !== undefined)

const proxyAt = (url: string) => {
  if (!url) return undefined
  const { hostname: host, port } = new URL(url)
  // An address of IPv6 stands in brackets in a URL, and nowhere else.
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port || 80) }
}

const packagesIn = ({ dataDir, packages }: Pick<Config, 'dataDir' | 'packages'>) =>
  packages.hosts.length > 0 ? { ...packages, directory: join(dataDir, 'packages') } : undefined

export interface OpenedEgress {
  readonly engine: Egress
  /** PEM: what programs in held machines have to trust. */
  readonly trusted: string
}

/** Throws `invalid_argument` naming a variable that cannot be used, and what listening throws. */
export const openEgress = async (
  config: Pick<Config, 'dataDir' | 'allowNetworks' | 'caFile' | 'egressResolvers' | 'egressProxy' | 'packages'>,
  driver: DriverOutbound,
  deps: Pick<EgressDeps, 'clock' | 'ids' | 'log' | 'wireNames' | 'lastNet'> & {
    sealer: Sealer
    owners: Owners
    members: Members
    files: EventFiles
  },
): Promise<OpenedEgress> => {
  const { clock, owners } = deps
  const options = {
    host: driver.address,
    ports: driver.ports,
    authority: await authorityOf(config.dataDir, deps),
    events: keptEvents,
    extraCa: (await authoritiesIn(config.caFile)) || undefined,
    allowNetworks: config.allowNetworks,
    closedNetworks: driver.machineNetworks,
    proxy: proxyAt(config.egressProxy),
    packages: packagesIn(config),
    dnsServers: config.egressResolvers.length > 0 ? config.egressResolvers : hostServers(),
  }
  const engine = await createEgress(options, {
    ...deps,
    sandboxOf: ({ remoteAddress }) => owners.of(remoteAddress),
    ownAddresses: ownAddresses(clock),
    neighbours: deps.members.neighbours,
    keeper: deps.files.of,
    processAt: driver.processAt,
  })
  // What is passed on unread shows the server's own certificate, which may be of the operator's authority.
  return { engine, trusted: [engine.caCertificate, options.extraCa ?? ''].join('\n').trim() + '\n' }
}

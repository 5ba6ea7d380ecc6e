/** Everything of a host that is opened before a record is looked at: from configuration and the outside world. */
import { join } from 'node:path'
import type { Clock } from '../../shared/clock.ts'
import type { Closing } from '../../shared/closing.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Log } from '../../shared/log.ts'
import { remoteBehind } from '../core/access/remote.ts'
import { bootstrap, type Bootstrap } from '../core/access/bootstrap.ts'
import { createConnections, type Connections } from '../core/channel/connections.ts'
import { createChannelKeys, type ChannelKeys } from '../core/channel/keys.ts'
import { openCatalogues, type Catalogues } from '../core/catalogues/catalogues.ts'
import type { Config } from '../base/config.ts'
import { prepareDataDir } from '../base/data-dir.ts'
import type { Driver } from '../drivers/driver.ts'
import { driversOf, type Drivers } from '../drivers/drivers.ts'
import { checkDriver, openDrivers } from '../drivers/index.ts'
import type { KnownLogin } from '../core/images/pulling.ts'
import { createImages, type Images } from '../core/images/images.ts'
import { needWhole } from '../ops/backup/restore.ts'
import { claimDataDir, type Claim } from '../base/one-host.ts'
import { createLastNet, type LastNet } from '../base/last-net.ts'
import { prepareRuntime } from '../core/runtime/prepare.ts'
import { imageShares } from '../core/kinds/image-share-records.ts'
import { registryLogins } from '../core/kinds/registry.ts'
import { openKeys, type Keyring } from '../core/secrets/keyring.ts'
import { openStore } from '../core/store/sqlite/open.ts'
import type { WritableStore } from '../core/store/store.ts'
import { createCursors, cursorKey, type Cursors } from '../base/wire/cursors.ts'
import { wireNames, type WireNames } from '../base/wire/names.ts'

export interface HostDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** What ends the connection that an exception was thrown for; whoever has the process asks it. */
  readonly lastNet?: LastNet
  /** Machines of no image that are kept ahead of need though nobody has asked for any, where the driver can; 0 unless given. */
  readonly genericMachines?: number
  /** Instead of those the configuration names, the first of them for new machines; for tests. */
  readonly drivers?: readonly [Driver, ...Driver[]]
}

export interface Parts extends Pick<HostDeps, 'clock' | 'ids' | 'log'> {
  /** The data directory, by its real path. */
  readonly realDataDir: string
  readonly lastNet: LastNet
  readonly genericMachines: number
  readonly claim: Claim
  readonly store: WritableStore
  readonly first: Bootstrap
  readonly names: WireNames
  readonly sealer: Keyring
  /** Text that only this host knows, also after the sealer's key was changed. */
  readonly secret: string
  readonly cursors: Cursors
  readonly catalogues: Catalogues
  readonly images: Images
  /** Logins that pulls of a workspace use for a while, by `workspace host`; they go before those that it has stored. */
  readonly lent: Map<string, KnownLogin>
  readonly drivers: Drivers
  readonly channelKeys: ChannelKeys
  /** Into the machines. */
  readonly connections: Connections
}

/** Registers with `closer` what it has opened. Throws what says which part is missing and what to do. */
export const openParts = async (config: Config, deps: HostDeps, closer: Closing): Promise<Parts> => {
  const { clock, ids, log } = deps
  const { dataDir } = config
  // Before anything is made.
  if (!deps.drivers) checkDriver(config)
  const realDataDir = await prepareDataDir(dataDir, log)
  const claim = await claimDataDir(realDataDir)
  closer.add('data directory', claim.release)
  await needWhole(realDataDir)
  await prepareRuntime(config, { log, clock })
  const store = await openStore({ path: join(dataDir, 'hutch.db') }, { log })
  closer.add('store', store.close)
  const first = await bootstrap(config, { store, clock, ids })
  const { keyring: sealer, secret } = await openKeys(dataDir, ids)
  const channelKeys = createChannelKeys(secret, ids)
  const connections = createConnections(channelKeys, clock, remoteBehind(config.trustedProxies))
  closer.add('connections', connections.close)
  const cursors = createCursors({ key: await cursorKey(dataDir, ids), clock })
  const catalogues = openCatalogues(join(dataDir, 'catalogues'), { log })
  const lent = new Map<string, KnownLogin>()
  const stored = registryLogins({ store, sealer })
  const images = await createImages(config, {
    ids,
    log,
    clock,
    loginFor: async (workspace, host) => lent.get(`${workspace} ${host}`) ?? stored(workspace, host),
    shares: imageShares({ store, clock }),
  })
  closer.add('image pulls', images.close)
  const inUse = new Set((await store.instances.every(() => {})).map(({ driver }) => driver))
  const drivers = deps.drivers
    ? driversOf(deps.drivers[0], deps.drivers.slice(1))
    : await openDrivers(config, inUse, { log, clock })
  closer.add('drivers', drivers.close)
  const names = wireNames(config.wireNames)
  return {
    clock,
    ids,
    log,
    lastNet: deps.lastNet ?? createLastNet(),
    genericMachines: deps.genericMachines ?? 0,
    realDataDir,
    claim,
    store,
    first,
    names,
    sealer,
    secret,
    cursors,
    catalogues,
    images,
    lent,
    drivers,
    channelKeys,
    connections,
  }
}

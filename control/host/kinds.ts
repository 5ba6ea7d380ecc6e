/** The kinds of this host, and what can be done with them. */
import { fail } from '../../shared/errors.ts'
import { writeWireNames } from '../../shared/wire-names.ts'
import type { Config } from '../base/config.ts'
import { ttlQuota } from '../base/config/quotas.ts'
import type { Drivers } from '../drivers/drivers.ts'
import { defaultImage } from '../core/images/default.ts'
import { createInvitations } from '../core/access/invitations.ts'
import { createKinds, type Kinds } from '../core/kinds/index.ts'
import { surroundingsOf } from '../network/outbound/surroundings.ts'
import { addressPool } from '../network/outbound/address-pool.ts'
import type { WayOut } from '../network/outbound/way-out.ts'
import type { Parts } from './parts.ts'
import { machineCredentials } from '../core/workloads/credentials.ts'
import type { SnapshotService } from '../core/kinds/sandbox/snapshots/service.ts'
import { crud, type Crud, type CrudDeps } from '../core/records/crud.ts'
import type { Kind } from '../core/records/kind.ts'

/** What can be done with each kind, without HTTP. */
export type Verbs = Readonly<Record<keyof Kinds, Crud>>

export type KindsByName = ReadonlyMap<string, Kind>

export const rulesByName = (kinds: Kinds): KindsByName => new Map(Object.values(kinds).map(kind => [kind.kind, kind]))

/** Throws `no_room` when the disk has not got so much to promise. */
const roomIn =
  ({ preferred }: Drivers) =>
  async (wantedMb: number): Promise<void> => {
    const { freeMb = wantedMb } = (await preferred.storage?.room()) ?? {}
    if (wantedMb > freeMb) throw fail('no_room', { wantedMb, freeMb: Math.max(0, freeMb), retryAfterS: 60 })
  }

export const kindsOf = async (
  config: Config,
  {
    images,
    sealer,
    names,
    store,
    clock,
    log,
    connections,
    secret,
    publicUrl,
    drivers,
    snapshots,
  }: Parts & { readonly publicUrl: () => string; readonly snapshots: () => SnapshotService },
  wayOut: WayOut | undefined,
): Promise<Kinds> => {
  const hasGateways = wayOut !== undefined && config.egressAddresses.length > 0
  const kinds: Kinds = createKinds({
    images,
    sealer,
    names,
    store,
    snapshots,
    invitations: createInvitations({ publicUrl, sendsMail: config.mail.host !== '' }),
    wireNames: writeWireNames(config.wireNames),
    regions: config.regions,
    place: config.place,
    defaultImage: () => defaultImage(images, names.imageName('base-image:latest')),
    egressRules: wayOut !== undefined,
    wayOut,
    surroundings: await surroundingsOf(config),
    volumes: drivers.preferred.volumes,
    needRoom: roomIn(drivers),
    servesDrives: config.drivesDir !== '',
    longestDays: config.quotas[ttlQuota],
    connections,
    credentials: machineCredentials(secret, store),
    publicUrl,
    clock,
    log,
    startupMs: config.startupMs,
    removeAfterMs: config.removeAfterMs,
    standbyAfterMs: config.standbyAfterMs,
    reclaimAfterMs: config.reclaimAfterMs,
    egressAddresses: hasGateways
      ? addressPool(config.egressAddresses, { store, clock, rulesOf: () => rulesByName(kinds) })
      : undefined,
  })
  return kinds
}

export const verbsOf = (kinds: Kinds, deps: CrudDeps): Verbs =>
  Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, crud(kind, deps)])) as unknown as Verbs

/** What this host can do, as its API tells it. */
import type { Abilities } from '../server/api/places.ts'
import type { Config } from '../base/config.ts'
import type { WayOut } from '../network/outbound/way-out.ts'
import type { Parts } from './parts.ts'

export const abilitiesOf = (
  { regions, drivesDir, egressAddresses, quotas }: Config,
  { drivers }: Pick<Parts, 'drivers'>,
  wayOut: WayOut | undefined,
): Abilities => ({
  regions,
  disks: drivers.preferred.storage !== undefined,
  drives: drivesDir !== '',
  quotas,
  outboundPolicies: wayOut !== undefined,
  egressAddresses: wayOut ? egressAddresses : [],
})

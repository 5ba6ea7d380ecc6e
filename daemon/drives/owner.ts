import type { IdMaps } from '../../shared/drives/provider.ts'
import type { Config } from '../config/config.ts'
import type { Identity } from '../identity/index.ts'

/** Whom drives are shown as belonging to when a mount does not say: what is configured, else who workloads run as. */
export const driveOwner = ({ drives }: Pick<Config, 'drives'>, identity: Identity | undefined): IdMaps => ({
  uidMap: drives.uidMap || String(identity?.uid ?? ''),
  gidMap: drives.gidMap || String(identity?.gid ?? ''),
})

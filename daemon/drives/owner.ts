import type { IdMaps } from '../../shared/drives/provider.ts'
import type { Config } from '../config/config.ts'
import type { Identity } from '../identity/index.ts'

/** The owner that drives are shown under when a mount names none: the configured one, else the user of workloads. */
export const driveOwner = ({ drives }: Pick<Config, 'drives'>, identity: Identity | undefined): IdMaps => ({
  uidMap: drives.uidMap || String(identity?.uid ?? ''),
  gidMap: drives.gidMap || String(identity?.gid ?? ''),
})

import { fail } from '../../../../shared/errors.ts'
import type { Config } from '../../../base/config.ts'
import { openDrivesDirectory } from './directory.ts'
import { machineDrives, type MachineDrives, type MachineDrivesDeps } from './machine-drives.ts'

/** Undefined when no drives are configured. Throws what is wrong with the directory, or that the driver cannot mount. */
export const openDrives = async (
  { drivesDir }: Pick<Config, 'drivesDir'>,
  deps: MachineDrivesDeps,
): Promise<MachineDrives | undefined> => {
  if (!drivesDir) return undefined
  const { preferred } = deps.drivers
  if (!preferred.mounter) {
    const reason = 'HUTCH_DRIVES_DIR is set, and drives need driver oci with runc or crun; change one of them'
    throw fail('driver_failed', { driver: preferred.name, step: 'drives', reason })
  }
  return machineDrives(await openDrivesDirectory(drivesDir), deps)
}

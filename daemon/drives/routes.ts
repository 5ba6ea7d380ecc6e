import { createDrives } from '../../shared/drives/drives.ts'
import { driveBounds } from '../../shared/drives/routes.ts'
import type { Bound } from '../../shared/route.ts'
import type { Core } from '../core.ts'
import { createBindDriveProvider } from './bind.ts'

export const driveRoutes = ({ config, identity }: Pick<Core, 'config' | 'identity'>): Bound[] => {
  const { drives: own, stateDir, upgradeDir } = config
  const provider = createBindDriveProvider({ root: own.root, owner: identity() })
  const drives = createDrives({ provider, reserved: ['/.hutch', own.root, stateDir, upgradeDir], maps: () => own })
  return driveBounds(() => drives)
}

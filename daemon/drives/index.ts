/** Drives of the sandbox, loaded with the first call. */
import type { Bound } from '../../shared/route.ts'
import { listMounts, mountDrive, unmountDrive } from '../../shared/wire/drives.ts'
import type { Core } from '../core.ts'
import { lazyRoutes } from '../lazy-routes.ts'

export { driveOwner } from './owner.ts'

export const createDriveRoutes = (core: Core): readonly Bound[] =>
  lazyRoutes([listMounts, mountDrive, unmountDrive], async () => (await import('./routes.ts')).driveRoutes(core))

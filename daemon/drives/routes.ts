import { fail } from '../../shared/errors.ts'
import { handle, type Bound } from '../../shared/route.ts'
import * as wire from '../../shared/wire/drives.ts'
import type { Core } from '../core.ts'
import { bindDrives } from './bind.ts'
import { cleanPath, createDrives } from './drives.ts'

export const driveRoutes = ({ config, identity }: Pick<Core, 'config' | 'identity'>): Bound[] => {
  const { drives: own, stateDir, upgradeDir } = config
  const provider = bindDrives({ root: own.root, owner: identity })
  const drives = createDrives({ provider, reserved: ['/.hutch', own.root, stateDir, upgradeDir], maps: own })
  return [
    handle(wire.listMounts, async () => ({ mounts: await drives.list() })),
    handle(wire.mountDrive, async ({ body }) => {
      const mounted = await drives.mount({
        driveName: body.driveName,
        mountPath: cleanPath(body.mountPath),
        drivePath: cleanPath(body.drivePath || '/'),
        readOnly: body.readOnly ?? false,
        uidMap: body.uidMap ?? '',
        gidMap: body.gidMap ?? '',
      })
      return { success: true, message: 'Drive mounted successfully', ...mounted }
    }),
    handle(wire.unmountDrive, async ({ params }) => {
      if (params.mountPath === '') throw fail('invalid_argument', { field: 'mountPath', reason: 'is required' })
      const mountPath = cleanPath(params.mountPath)
      await drives.unmount(mountPath)
      return { success: true, message: 'Drive unmounted successfully', mountPath }
    }),
  ]
}

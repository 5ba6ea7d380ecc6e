/** The routes of drives, answered by the daemon for itself or by the host for a machine that may not mount. */
import { fail } from '../errors.ts'
import { handle, type Bound, type Context } from '../route.ts'
import type { Out } from '../schema.ts'
import * as wire from '../wire/drives.ts'
import { cleanPath, type Drives } from './drives.ts'
import type { DriveMount } from './provider.ts'

/** What the body of a request asks for. */
export const wantedMount = (body: Out<typeof wire.mountRequest>): DriveMount => ({
  driveName: body.driveName,
  mountPath: cleanPath(body.mountPath),
  drivePath: cleanPath(body.drivePath || '/'),
  readOnly: body.readOnly ?? false,
  uidMap: body.uidMap ?? '',
  gidMap: body.gidMap ?? '',
})

/** `drivesOf` gives the drives of the sandbox that a request is about. */
export const driveBounds = (drivesOf: (context: Context) => Drives): Bound[] => [
  handle(wire.listMounts, async (_, context) => ({ mounts: await drivesOf(context).list() })),
  handle(wire.mountDrive, async ({ body }, context) => {
    const mounted = await drivesOf(context).mount(wantedMount(body))
    return { success: true, message: 'Drive mounted successfully', ...mounted }
  }),
  handle(wire.unmountDrive, async ({ params }, context) => {
    if (params.mountPath === '') throw fail('invalid_argument', { field: 'mountPath', reason: 'is required' })
    const mountPath = cleanPath(params.mountPath)
    await drivesOf(context).unmount(mountPath)
    return { success: true, message: 'Drive unmounted successfully', mountPath }
  }),
]

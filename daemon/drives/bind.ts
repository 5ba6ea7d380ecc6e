/** Drives that the host shows as directories under one root: mounting one is a bind mount. */
import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { errno, fail, isError, messageOf } from '../../shared/errors.ts'
import { bindMount, changeOwner, openDirectory, restrictMount, unmount, type Directory } from '../native/mount/mount.ts'
import { below, parseMountinfo, visible, type MountEntry } from '../../shared/drives/mountinfo.ts'
import { driveOf, type DriveMount, type DriveProvider } from '../../shared/drives/provider.ts'

/** Owner of the mount points that we make; undefined: root. */
export interface Owner {
  readonly uid: number
  readonly gid: number
}

const inTheWay = new Set(['ENOTDIR', 'ELOOP'])

const openMountPoint = (path: string, owner: Owner | undefined): Directory => {
  try {
    const directory = openDirectory(path, 0o755)
    // Only a directory that this call made changes its owner: an existing one may be the system's.
    if (directory.created && owner) changeOwner(directory, owner.uid, owner.gid)
    return directory
  } catch (error) {
    if (!inTheWay.has(errno(error) ?? '')) throw error
    throw fail('invalid_argument', { field: 'mountPath', reason: 'a file or a link is in the way' }, error)
  }
}

const openSource = (root: string, { driveName, drivePath, readOnly }: DriveMount): Directory => {
  const drive = posix.join(root, driveName)
  try {
    openDirectory(drive)[Symbol.dispose]()
  } catch (error) {
    throw fail('not_found', { kind: 'drive', name: driveName }, error)
  }
  try {
    return openDirectory(posix.join(drive, drivePath), readOnly ? undefined : 0o755)
  } catch (error) {
    throw fail('invalid_argument', { field: 'drivePath', reason: messageOf(error) }, error)
  }
}

const toDrive = (root: string, entry: MountEntry, entries: readonly MountEntry[]): DriveMount | undefined => {
  // The tree of drives is made of mounts, too.
  if (below(entry.mountPoint, root) !== undefined) return undefined
  return driveOf(entry, root, entries)
}

/** Turns system errors into `operation_failed` with their text. */
const attempt = async <T>(what: string, work: () => T | Promise<T>): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    if (isError(error) || errno(error) === undefined) throw error
    throw fail('operation_failed', { reason: `${what}: ${messageOf(error)}` }, error)
  }
}

export const createBindDriveProvider = (options: { root: string; owner?: Owner | undefined }): DriveProvider => {
  const { root, owner } = options
  const entries = () =>
    attempt('cannot read the mounts', async () => parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8')))
  return {
    mapsIds: false,
    async list() {
      const all = await entries()
      return visible(all).flatMap(entry => toDrive(root, entry, all) ?? [])
    },
    async at(mountPath) {
      const all = await entries()
      const entry = visible(all).find(({ mountPoint }) => mountPoint === mountPath)
      return entry && (toDrive(root, entry, all) ?? 'other')
    },
    mount: wanted =>
      attempt('cannot mount', () => {
        using source = openSource(root, wanted)
        using target = openMountPoint(wanted.mountPath, owner)
        bindMount(source, target)
        using mounted = openDirectory(wanted.mountPath)
        try {
          restrictMount(mounted, { readOnly: wanted.readOnly })
        } catch (error) {
          unmount(mounted)
          throw error
        }
        return wanted
      }),
    unmount: mountPath =>
      attempt('cannot unmount', () => {
        using mounted = openDirectory(mountPath)
        unmount(mounted)
      }),
  }
}

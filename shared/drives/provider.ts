import { sourceBelow, type MountEntry } from './mountinfo.ts'

/**
 * Where drives come from. A *drive* is a directory tree outside of the sandbox; a *mount* shows it, or a directory of
 * it, at a path inside. Paths are absolute and clean. What is mounted is read from the kernel, never remembered, so
 * that a restarted daemon knows as much. Callers make sure that each mount point has one caller at a time.
 */
export interface DriveMount {
  readonly driveName: string
  readonly mountPath: string
  /** The directory of the drive that is shown, `/` for all of it. */
  readonly drivePath: string
  readonly readOnly: boolean
  /** Ids under which files of the drive's owner appear; '' leaves them as they are. */
  readonly uidMap: string
  readonly gidMap: string
}

export type IdMaps = Pick<DriveMount, 'uidMap' | 'gidMap'>

export interface DriveProvider {
  /** Whether the provider can show files under other owners than they have. */
  readonly mapsIds: boolean
  list(): Promise<DriveMount[]>
  /** What uses a mount point: a drive, something else, or nothing. */
  at(mountPath: string): Promise<DriveMount | 'other' | undefined>
  /**
   * Makes what is missing of the mount point and, unless the mount is read-only, of the directory in the drive.
   * Ids that are asked for are used, or the mount fails; where none are, `defaults` are used if possible.
   * Resolves with the mount as it is. Throws `not_found` for a drive this sandbox was not given, `invalid_argument` when
   * a file or link is in the way.
   */
  mount(wanted: DriveMount, defaults: IdMaps): Promise<DriveMount>
  /** Throws `operation_failed`. */
  unmount(mountPath: string): Promise<void>
}

/** The drive that `entry` shows of `directory`, which holds them all; undefined when it shows something else. */
export const driveOf = (
  entry: MountEntry,
  directory: string,
  entries: readonly MountEntry[],
): DriveMount | undefined => {
  const source = sourceBelow(entry, directory, entries)
  if (source === undefined) return undefined
  const [, driveName = '', ...rest] = source.split('/')
  const { mountPoint: mountPath, readOnly } = entry
  return { driveName, mountPath, drivePath: `/${rest.join('/')}`, readOnly, uidMap: '', gidMap: '' }
}

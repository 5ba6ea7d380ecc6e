/**
 * Mounts between descriptors, so that a link that a tenant puts in the path is not followed. All need CAP_SYS_ADMIN.
 */
import { closeSync } from 'node:fs'
import { check, lazy, loadAddon } from '../load.ts'

interface MountAddon {
  open_directory(path: string, mode: number): [fd: number, created: number] | number
  change_owner(fd: number, uid: number, gid: number): number
  bind_mount(from: number, to: number, flags: number): number
  change_mount(fd: number, flags: number): number
  detach(fd: number): number
}

const addon = lazy(() => loadAddon<MountAddon>('mount'))
const MS = { RDONLY: 1, NOSUID: 2, NODEV: 4, REMOUNT: 32, BIND: 4096, REC: 16384 } as const

/** A directory that was opened without following a link (`O_PATH`): usable only to mount and to change its owner. */
export interface Directory extends Disposable {
  readonly fd: number
  /** Whether this call made the directory. */
  readonly created: boolean
}

/**
 * Opens the directory at an absolute path; with `mode` it makes a missing one, with its parents. Throws `ENOTDIR` when
 * a link or a file is in the path, `EINVAL` for `..`.
 */
export const openDirectory = (path: string, mode?: number): Directory => {
  const opened = addon().open_directory(path, mode ?? -1)
  if (typeof opened === 'number') {
    check('open', opened, path)
    throw new Error('open: no descriptor')
  }
  const [fd, created] = opened
  return { fd, created: created === 1, [Symbol.dispose]: () => closeSync(fd) }
}

export const changeOwner = (directory: Directory, uid: number, gid: number): void =>
  void check('fchownat', addon().change_owner(directory.fd, uid, gid))

/** Makes the contents of `from` visible at `to`; with `recursive` also what is mounted below it. */
export const bindMount = (from: Directory, to: Directory, options: { recursive?: boolean } = {}): void =>
  void check('mount', addon().bind_mount(from.fd, to.fd, options.recursive ? MS.REC : 0))

/**
 * Changes a bind mount. Open its mount point again after mounting: an older descriptor is of the directory below.
 * Device files and setuid bits have no effect in it.
 */
export const restrictMount = (mounted: Directory, options: { readOnly: boolean }): void => {
  const flags = MS.REMOUNT | MS.BIND | MS.NOSUID | MS.NODEV | (options.readOnly ? MS.RDONLY : 0)
  check('mount', addon().change_mount(mounted.fd, flags))
}

/** Removes a mount at once, even while it is in use. `EINVAL` when it is not a mount. */
export const unmount = (mounted: Directory): void => void check('umount', addon().detach(mounted.fd))

/** Mounts between descriptors, so that no link a tenant puts in the way is followed. All need CAP_SYS_ADMIN. */
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

/** A directory that was reached without following a link. Good for mounting and changing its owner only (`O_PATH`). */
export interface Directory extends Disposable {
  readonly fd: number
  /** This call made it: it was not there before. */
  readonly created: boolean
}

/**
 * Opens the directory at an absolute path; with `mode` it is made, with its parents, when it is missing. Throws
 * `ENOTDIR` when a link or a file is on the way, `EINVAL` for `..`.
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

/** Makes the contents of `from` visible at `to`. `recursive`: with what is mounted below it. */
export const bindMount = (from: Directory, to: Directory, options: { recursive?: boolean } = {}): void =>
  void check('mount', addon().bind_mount(from.fd, to.fd, options.recursive ? MS.REC : 0))

/**
 * Changes a bind mount: open its mount point again after mounting, since an older descriptor is of the directory below.
 * Device files and setuid programs count for nothing in it.
 */
export const restrictMount = (mounted: Directory, options: { readOnly: boolean }): void => {
  const flags = MS.REMOUNT | MS.BIND | MS.NOSUID | MS.NODEV | (options.readOnly ? MS.RDONLY : 0)
  check('mount', addon().change_mount(mounted.fd, flags))
}

/** Takes a mount away at once, also while it is in use. `EINVAL`: it is no mount. */
export const unmount = (mounted: Directory): void => void check('umount', addon().detach(mounted.fd))

/** Files that a daemon of this process is writing and that have not got their names yet. */
import { fstatSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { draftKind } from '../../daemon/filesystem/whole/draft-name.ts'
import { errno } from '../../shared/errors.ts'

/** Bytes of the unnamed file that a descriptor is, if it is one of `dir`. */
const unnamedSize = (fd: string, dir: string): number[] => {
  try {
    const target = readlinkSync(join('/proc/self/fd', fd))
    return target.startsWith(`${dir}/#`) ? [fstatSync(Number(fd)).size] : []
  } catch (error) {
    // Closed since it was listed.
    if (['ENOENT', 'EBADF'].includes(errno(error) ?? '')) return []
    throw error
  }
}

/** The bytes of each in `dir` itself: unnamed ones that are open, and those that have a short-lived name. */
export const draftsIn = (dir: string): number[] => [
  ...readdirSync('/proc/self/fd').flatMap(fd => unnamedSize(fd, dir)),
  ...readdirSync(dir)
    .filter(name => draftKind(name) !== undefined)
    .map(name => statSync(join(dir, name)).size),
]

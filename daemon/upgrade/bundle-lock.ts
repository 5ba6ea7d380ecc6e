/** Shows the host that a bundle is in use, so that a later build does not remove it. */
import { closeSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errno } from '../../shared/errors.ts'
import { lockShared } from '../native/sys/sys.ts'

/** The bundle that the sandbox was created with; after an upgrade the daemon runs from another one. */
const first = '/.hutch/bundle.json'

/**
 * Holds a shared lock on the bundle of `script` and on that of the sandbox for as long as this process lives. A lock is
 * seen from every namespace and needs no privilege. A daemon that runs from sources locks nothing.
 */
export const lockBundles = (script: string | undefined): void => {
  const own = join(dirname(script ?? ''), '..', 'bundle.json')
  for (const path of new Set([own, first])) {
    let fd: number | undefined
    try {
      fd = openSync(path, 'r')
      lockShared(fd)
    } catch (error) {
      // Run from sources, or this file system has no locks, or somebody else has locked it: then that shows that it is
      // in use.
      if (errno(error) === undefined) throw error
      if (fd !== undefined) closeSync(fd)
    }
  }
}

/** Says to the host that a bundle is in use, so that a later build does not take it away. */
import { closeSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errno } from '../../shared/errors.ts'
import { lockShared } from '../native/sys/sys.ts'

/** The bundle that the sandbox began with; after an upgrade the daemon runs from another one. */
const first = '/.hutch/bundle.json'

/**
 * Holds a shared lock on the bundle that `script` lies in and on that of the sandbox, as long as this process lives: it is
 * seen through every namespace and needs no right. A daemon that is in no bundle holds nothing.
 */
export const lockBundles = (script: string | undefined): void => {
  const own = join(dirname(script ?? ''), '..', 'bundle.json')
  for (const path of new Set([own, first])) {
    let fd: number | undefined
    try {
      fd = openSync(path, 'r')
      lockShared(fd)
    } catch (error) {
      // Run from sources; or no locks here, or a tenant's: then the bundle is seen to be in use by that.
      if (errno(error) === undefined) throw error
      if (fd !== undefined) closeSync(fd)
    }
  }
}

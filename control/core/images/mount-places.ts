/** Where each machine has file systems of its own. */
import { lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { errno, fail } from '../../../shared/errors.ts'

/** At the root of an image; drivers make those that it has not. */
const places = ['proc', 'dev', 'sys', '.hutch']

/**
 * Throws `unprocessable` where the image has anything but a directory in the place of one. From a file no machine starts. From a link some
 * do, of those that are made for the image, but none that was made ahead of need becomes one: each try would cost one of these.
 */
export const needMountPlaces = async (rootfs: string): Promise<void> => {
  for (const name of places)
    try {
      if (!(await lstat(join(rootfs, name))).isDirectory())
        throw fail('unprocessable', {
          reason: `its /${name} is no directory: sandboxes have a file system of their own there`,
        })
    } catch (error) {
      if (errno(error) !== 'ENOENT') throw error
    }
}

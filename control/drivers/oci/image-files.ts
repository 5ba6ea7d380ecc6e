/** The image under a machine's overlay: shared by others, and removed by whoever does not know of them. */
import { statSync } from 'node:fs'
import type { Marker } from './marker.ts'

/** Known to the kernel: a promise of it takes the server ten times as long, and every look at every machine asks. */
const look = (path: string) => statSync(path, { throwIfNoEntry: false })

/** Which directory an image is, to be recognised later. */
export const imageMark = (path: string): Marker['image'] => {
  const found = look(path)
  return found && { path, inode: found.ino }
}

/**
 * Whether the image that a machine was started from is gone: no directory there, another one, or one without directories.
 * An overlay goes on with the directory that it was given, whatever has its name by now.
 */
export const isImageGone = ({ image }: Marker): boolean => {
  if (!image) return false
  const found = look(image.path)
  // A directory has a link for itself, its name, and each directory in it, where the file system counts them (not btrfs: 1).
  return !found || found.ino !== image.inode || found.nlink === 2
}

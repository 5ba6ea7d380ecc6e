/** The image under a machine's overlay: shared by others, and removed by whoever does not know of them. */
import { stat } from 'node:fs/promises'
import { errno } from '../../../shared/errors.ts'
import type { Marker } from './marker.ts'

const look = async (path: string) => {
  try {
    return await stat(path)
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return undefined
    throw error
  }
}

/** Which directory an image is, to be recognised later. */
export const imageMark = async (path: string): Promise<Marker['image']> => {
  const found = await look(path)
  return found && { path, inode: found.ino }
}

/**
 * Whether the image that a machine was started from is gone: no directory there, another one, or one without directories.
 * An overlay goes on with the directory that it was given, whatever has its name by now.
 */
export const isImageGone = async ({ image }: Marker): Promise<boolean> => {
  if (!image) return false
  const found = await look(image.path)
  // A directory has a link for itself, its name, and each directory in it, where the file system counts them (not btrfs: 1).
  return !found || found.ino !== image.inode || found.nlink === 2
}

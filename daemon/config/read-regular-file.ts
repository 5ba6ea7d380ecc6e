/** Reads files that a tenant may have replaced by something that never ends: a fifo, a device, a file as large as the disk. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

/** Larger files are refused. Bytes. */
const limit = 16 * 1024 * 1024

/**
 * The content of a regular file. Throws system errors, and an Error without a code for a larger file or one that is not
 * regular.
 */
export const readRegularFile = (path: string): Buffer => {
  // Without O_NONBLOCK opening a fifo would block until somebody writes to it.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new Error(`${path} is no regular file`)
    if (stat.size > limit) throw new Error(`${path} is larger than ${limit} bytes`)
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Reads files that a tenant may have replaced by something that never ends: a fifo, a device, a file as large as the disk. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'

interface ReadOptions {
  /** Larger files are refused; default 16 MiB. */
  readonly maxBytes?: number
  /** Whether a link counts as what it leads to; default true. */
  readonly follow?: boolean
}

/**
 * The content of a regular file. Throws system errors, and an Error without a code for a larger file or one that is not
 * regular.
 */
export const readRegularFile = (path: string, options: ReadOptions = {}): Buffer => {
  const { maxBytes = 16 * 1024 * 1024, follow = true } = options
  // Without O_NONBLOCK opening a fifo would block until somebody writes to it.
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | (follow ? 0 : constants.O_NOFOLLOW))
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new Error(`${path} is no regular file`)
    if (stat.size > maxBytes) throw new Error(`${path} is larger than ${maxBytes} bytes`)
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

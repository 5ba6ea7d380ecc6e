/** Writes files: in place, or beside the target and renamed. */
import { constants } from 'node:fs'
import { posix } from 'node:path'
import { errno } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import { closeFd, statFd, truncateFd, writeFd, writeFdAt } from './descriptor.ts'
import type { FilePort } from './port.ts'

const { O_WRONLY, O_CREAT, O_TRUNC, O_EXCL } = constants

/** Opens for writing; makes missing parents (0755). */
export const openForWrite = async (port: FilePort, path: string, flags: number, mode: number): Promise<number> => {
  try {
    return await port.open(path, flags, mode)
  } catch (error) {
    if (errno(error) !== 'ENOENT') throw error
    await port.mkdir(posix.dirname(path), 0o755)
    return port.open(path, flags, mode)
  }
}

/** Closes after a failure and removes the partial file, but not a device or fifo. */
const dropPartial = async (port: FilePort, path: string, fd: number): Promise<void> => {
  const regular = (await statFd(fd)).kind === 'file'
  await closeFd(fd).catch(() => {
    // The write failed already; that is the failure to report.
  })
  if (regular) await removePartial(port, path)
}

/** Runs `write` on a fresh descriptor of `path`, truncated. After a failure the partial file is removed. */
export const writeInPlace = async <T>(
  port: FilePort,
  path: string,
  mode: number,
  write: (fd: number) => Promise<T>,
): Promise<T> => {
  const fd = await openForWrite(port, path, O_WRONLY | O_CREAT | O_TRUNC, mode)
  let result: T
  try {
    result = await write(fd)
  } catch (error) {
    await dropPartial(port, path, fd)
    throw error
  }
  await closeFd(fd)
  return result
}

/** Removes a file that was only partly written; if `path` is a link, the file and not the link. */
const removePartial = async (port: FilePort, path: string): Promise<void> => {
  try {
    await port.unlink(await port.realpath(path))
  } catch (error) {
    // It is removed already.
    if (errno(error) !== 'ENOENT') throw error
  }
}

/** Writes the bytes beyond the first `size`; when that fails the file is left as it was. */
const grow = async (fd: number, bytes: Uint8Array, size: number): Promise<void> => {
  try {
    await writeFdAt(fd, bytes.subarray(size), size)
  } catch (error) {
    await truncateFd(fd, size)
    throw error
  }
}

/**
 * Writes in place and cuts off the rest of a longer content; `mode` applies to a new file. The file is not truncated
 * first: ext4 would then write it to the disk when it is closed, which takes milliseconds. Bytes that need new room on
 * the disk are written first, so that a full disk does not cost the old content.
 */
export const writeBytes = async (port: FilePort, path: string, bytes: Uint8Array, mode: number): Promise<void> => {
  const fd = await openForWrite(port, path, O_WRONLY | O_CREAT, mode)
  let untouched = false
  try {
    const { kind, size } = await statFd(fd)
    const before = kind === 'file' ? size : 0
    untouched = before > 0
    if (untouched && bytes.length > before) await grow(fd, bytes, before)
    untouched = false
    await writeFd(fd, before > 0 ? bytes.subarray(0, before) : bytes)
    if (before > bytes.length) await truncateFd(fd, bytes.length)
  } catch (error) {
    if (untouched) await closeFd(fd)
    else await dropPartial(port, path, fd)
    throw error
  }
  await closeFd(fd)
}

/** The file that `path` leads to through links, and its mode if it exists. */
export const targetOf = async (port: FilePort, path: string): Promise<{ real: string; mode: number | undefined }> => {
  try {
    const real = await port.realpath(path)
    const stat = await port.stat(real)
    if (stat.kind === 'file') return { real, mode: stat.mode & 0o7777 }
    const code = stat.kind === 'directory' ? 'EISDIR' : 'EINVAL'
    throw Object.assign(new Error(`${code}: ${path} is a ${stat.kind}, not a regular file`), { code })
  } catch (error) {
    if (errno(error) !== 'ENOENT') throw error
    return { real: path, mode: undefined }
  }
}

/**
 * Runs `fill` on a new file beside `path` and renames it over `path` when it is complete: readers see the old content
 * or the new, never a part. A link is followed. Without `mode` the replaced file's mode is kept; a new file gets
 * `fresh`.
 */
export const replaceFile = async <T>(
  deps: { port: FilePort; ids: Ids },
  path: string,
  modes: { mode?: number | undefined; fresh: number },
  fill: (fd: number) => Promise<T>,
): Promise<T> => {
  const { port, ids } = deps
  const target = await targetOf(port, path)
  const { dir, base } = posix.parse(target.real)
  // Shortened, since the whole name must stay below 255 bytes.
  const partial = posix.join(dir, `.${base.slice(0, 60)}.${ids.short(12)}.partial`)
  const wanted = modes.mode ?? target.mode ?? modes.fresh
  const fd = await openForWrite(port, partial, O_WRONLY | O_CREAT | O_EXCL, wanted)
  try {
    let result: T
    try {
      result = await fill(fd)
    } finally {
      await closeFd(fd)
    }
    await port.rename(partial, target.real)
    return result
  } catch (error) {
    await removePartial(port, partial)
    throw error
  }
}

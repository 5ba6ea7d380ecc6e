import { errno, fail, messageOf } from '../../shared/errors.ts'
import { fitsJson } from '../../shared/json-size.ts'
import { constants } from 'node:fs'
import { dropFd, readAll, statFd } from '../filesystem/descriptor.ts'
import type { FilePort } from '../filesystem/port.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The bytes of a regular file; undefined when there is none. Throws the port's errors, `EISDIR` for a directory. */
export const readBytes = async (port: FilePort, path: string, limit: number): Promise<Buffer | undefined> => {
  let fd: number
  try {
    fd = await port.open(path, constants.O_RDONLY)
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined
    throw error
  }
  try {
    const { kind, size } = await statFd(fd)
    if (kind !== 'file')
      throw Object.assign(new Error(`${path} is a ${kind}`), { code: kind === 'directory' ? 'EISDIR' : 'EINVAL' })
    return await readAll(fd, size, limit)
  } finally {
    dropFd(fd)
  }
}

/** Bytes as text, or undefined when they are not UTF-8. */
export const decodeText = (bytes: Uint8Array): string | undefined => {
  try {
    return utf8.decode(bytes)
  } catch {
    // A fatal decoder throws only for invalid bytes.
    return undefined
  }
}

/**
 * The text of a file; undefined when there is none. 400 for a directory, 422 for a file that is not text or cannot be
 * read.
 */
export const readSource = async (port: FilePort, path: string, limit: number): Promise<string | undefined> => {
  try {
    const bytes = await readBytes(port, path, limit)
    if (bytes && !fitsJson(bytes)) throw new Error(`${path} is too large for JSON`)
    const text = bytes && decodeText(bytes)
    if (bytes && text === undefined) throw new Error(`${path} is not UTF-8 text`)
    return text
  } catch (error) {
    if (errno(error) === 'EISDIR') throw fail('invalid_argument', { field: 'path', reason: 'is a directory' }, error)
    throw fail('unprocessable', { reason: messageOf(error) }, error)
  }
}

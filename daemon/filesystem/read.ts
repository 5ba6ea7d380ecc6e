/** Opens files and directories, and reads them as JSON objects. */
import { constants } from 'node:fs'
import { errno, fail } from '../../shared/errors.ts'
import { fitsJson } from '../../shared/json-size.ts'
import type { Out } from '../../shared/schema.ts'
import type { fileShape } from '../../shared/wire/file-shapes.ts'
import { directoryObject, fileEntry, nameOf, type DirectoryObject } from './describe.ts'
import { dropFd, readAll } from './descriptor.ts'
import { asNotFound, asNotLookedUp, asUnprocessable } from './failures.ts'
import type { Owners } from './owners.ts'
import type { FilePort, FileStat, OpenedForRead } from './port.ts'

export interface Opened extends OpenedForRead {
  /** Of the link, when the path itself is one. */
  readonly link: FileStat | undefined
}

/** Files above this are refused as JSON: the text, its quoted form and the answer are all in memory. Bytes. */
const jsonReadLimit = 128 * 1024 * 1024

const tooLargeFor = (size: number) =>
  Object.assign(new RangeError(`${size} bytes are more than the heap has room for as JSON`), {
    code: 'ERR_FS_FILE_TOO_LARGE',
  })

const openEither = async (port: FilePort, path: string): Promise<Opened> => {
  try {
    // First without following links: a plain file, the common case, then needs no lstat.
    return { ...(await port.openRead(path, constants.O_RDONLY | constants.O_NOFOLLOW)), link: undefined }
  } catch (error) {
    if (errno(error) !== 'ELOOP') throw error
    const link = await port.lstat(path)
    return { ...(await port.openRead(path, constants.O_RDONLY)), link }
  }
}

/** 404 when missing, 500 when the path cannot be looked up, 422 when what is there cannot be opened. */
export const openForRead = async (port: FilePort, path: string): Promise<Opened> => {
  let opened: Opened
  try {
    opened = await openEither(port, path)
  } catch (error) {
    await port.stat(path).catch(reason => {
      throw asNotFound(path, reason, asNotLookedUp)
    })
    throw asUnprocessable(error)
  }
  const { kind } = opened.stat
  if (kind === 'file' || kind === 'directory') return opened
  dropFd(opened.fd)
  throw fail('unprocessable', { reason: `${path} is a ${kind}, not a regular file` })
}

/** The JSON object of an opened file; closes it. */
export const fileObject = async (opened: Opened, shown: string, owners: Owners): Promise<Out<typeof fileShape>> => {
  const { fd, stat, link, content } = opened
  try {
    const [bytes] = await Promise.all([content ?? readAll(fd, stat.size, jsonReadLimit), owners.refresh()])
    if (!fitsJson(bytes)) throw tooLargeFor(stat.size)
    return { ...fileEntry(shown, nameOf(shown), stat, owners, link), content: bytes.toString('utf8') }
  } catch (error) {
    if (errno(error) === 'ERR_FS_FILE_TOO_LARGE')
      throw fail('unprocessable', { reason: `${shown} is too large for JSON; download it` }, error)
    throw asUnprocessable(error)
  } finally {
    dropFd(fd)
  }
}

/** One level of a directory; failures are the port's. */
export const listDirectory = async (
  deps: { port: FilePort; owners: Owners },
  path: string,
  shown: string,
): Promise<DirectoryObject> => {
  const [entries] = await Promise.all([deps.port.list(path), deps.owners.refresh()])
  return directoryObject(shown, entries, deps.owners)
}

/**
 * The daemon's own files where tenants can write too: they may have put a pipe there that never ends, a link, a directory,
 * or gigabytes. Whatever is not the daemon's is moved aside and kept, and the daemon begins anew beside it.
 */
import {
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  type Stats,
} from 'node:fs'
import { dirname } from 'node:path'
import { errno, messageOf } from '../../shared/errors.ts'
import { readRegularFile } from '../config/read-regular-file.ts'
import { randomBytes } from '../native/sys/sys.ts'

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants

/** What is there, links not followed; undefined for nothing. */
const lookAt = (path: string): Stats | undefined => {
  try {
    return lstatSync(path)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errno(error) ?? '')) return undefined
    throw error
  }
}

const isOwn = ({ uid }: Stats): boolean => uid === process.geteuid?.()

const isDirectory = (path: string): boolean => {
  try {
    return statSync(path).isDirectory()
  } catch {
    // A link to nothing, or to itself.
    return false
  }
}

/** Renames it to a name that nobody uses. Throws when that cannot be done, as for a place where something is mounted. */
const moveAside = (path: string): void => renameSync(path, `${path}.not-hutchd-${randomBytes(6).toString('hex')}`)

/** The first part of a path that keeps it from being a directory; undefined when nothing does. */
const obstacle = (path: string): string | undefined => {
  const parent = dirname(path)
  const above = parent === path ? undefined : obstacle(parent)
  if (above !== undefined) return above
  return lookAt(path) && !isDirectory(path) ? path : undefined
}

/** Makes the directory, and those above it; what is in the way is moved aside. A link to a directory is one. */
export const makeDirectory = (path: string, mode: number): void => {
  const wrong = obstacle(path)
  if (wrong !== undefined) moveAside(wrong)
  mkdirSync(path, { recursive: true, mode })
}

/** Makes a directory that only the daemon's user can read and write: what is in it is believed. */
export const makePrivateDirectory = (path: string): void => {
  makeDirectory(path, 0o700)
  const found = lookAt(path)
  if (found && (!found.isDirectory() || !isOwn(found))) {
    moveAside(path)
    mkdirSync(path, { mode: 0o700 })
  }
  chmodSync(path, 0o700)
}

/** Makes room for a file: a directory with its name is moved aside, anything else removed. */
const clear = (path: string): void => {
  const found = lookAt(path)
  if (found?.isDirectory()) moveAside(path)
  else if (found) rmSync(path, { force: true })
}

/** A new, empty file in place of whatever has the name; for appending. */
export const makeFile = (path: string, mode: number): number => {
  clear(path)
  return openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, mode)
}

/** The file with the name, for appending, if it is the daemon's own; undefined for anything else, and for none. */
export const openOwnFile = (path: string): number | undefined => {
  const found = lookAt(path)
  return found?.isFile() && isOwn(found) ? openSync(path, O_WRONLY | O_APPEND | O_NOFOLLOW) : undefined
}

/** Gives the file at `from` the name `to`, in place of whatever has it. */
export const putInPlace = (from: string, to: string): void => {
  if (lookAt(to)?.isDirectory()) moveAside(to)
  renameSync(from, to)
}

/** Replaces the file at `path` in one step, with the directories above it; a link there is replaced and not followed. */
export const replaceFile = (path: string, content: string | Uint8Array, mode: number): void => {
  makeDirectory(dirname(path), 0o755)
  const next = `${path}.${process.pid}.tmp`
  const fd = makeFile(next, mode)
  try {
    writeFileSync(fd, content)
  } finally {
    closeSync(fd)
  }
  putInPlace(next, path)
}

/**
 * The text of a file of the daemon's own, of at most `maxBytes`; '' when there is none. One that is not its own, not a
 * file, or larger counts as none, and `refused` hears why.
 */
export const readOwnFile = (path: string, maxBytes: number, refused: (reason: string) => void): string => {
  const found = lookAt(path)
  if (!found) return ''
  try {
    if (!found.isFile() || !isOwn(found)) throw new Error('it is no file of the daemon')
    return readRegularFile(path, { maxBytes, follow: false }).toString('utf8')
  } catch (error) {
    refused(messageOf(error))
    return ''
  }
}

/** The operations on files and directories, for the HTTP routes and for other rooms. */
import { errno, fail } from '../../shared/errors.ts'
import type { Out } from '../../shared/schema.ts'
import type { fileShape } from '../../shared/wire/file-shapes.ts'
import type { DirectoryObject } from './describe.ts'
import { dropFd } from './descriptor.ts'
import { asNotFound, asUnprocessable } from './failures.ts'
import type { Owners } from './owners.ts'
import type { FilePort } from './port.ts'
import { fileObject, listDirectory, openForRead, type Opened } from './read.ts'
import type { WholeFiles } from './whole/whole.ts'

type FileObject = Out<typeof fileShape>

/** Paths are absolute; `shown` is how the caller named the path, which is what the answer repeats. */
export interface Files {
  readonly port: FilePort
  readonly owners: Owners
  readonly whole: WholeFiles
  /** Opens a regular file or directory. Throws `path_not_found`, `operation_failed`, `unprocessable`. */
  open(path: string): Promise<Opened>
  /** A file with its content as text, or one level of a directory. Throws as `open`. */
  read(path: string, shown: string): Promise<FileObject | DirectoryObject>
  /** The same for an opened file, which it closes. */
  object(opened: Opened, path: string, shown: string): Promise<FileObject | DirectoryObject>
  /** Throws the port's system errors. */
  list(path: string, shown: string): Promise<DirectoryObject>
  /** Whole or not at all, making parents; `mode` applies to a new file. Throws `unprocessable`. */
  write(path: string, content: string | Uint8Array, mode: number): Promise<void>
  /** With parents; an existing directory is fine. Throws `unprocessable`. */
  makeDirectory(path: string, mode: number): Promise<void>
  /** What has the name: for a link to a directory that, for any other link a file. Throws `path_not_found`, `unprocessable`. */
  kindOf(path: string): Promise<'file' | 'directory'>
  /** Answers what was removed; of a link only itself is. Throws `path_not_found`, `unprocessable`. */
  remove(path: string, recursive: boolean): Promise<'file' | 'directory'>
}

/** A link that leads nowhere, or in a circle, is no directory, and is there all the same. */
const kindOf = async (port: FilePort, path: string): Promise<'file' | 'directory'> => {
  const { kind } = await port.lstat(path).catch(error => {
    throw asNotFound(path, error, asUnprocessable)
  })
  if (kind !== 'symlink') return kind === 'directory' ? 'directory' : 'file'
  return port.stat(path).then(
    target => (target.kind === 'directory' ? 'directory' : 'file'),
    () => 'file',
  )
}

const removeDirectory = async (port: FilePort, path: string, recursive: boolean): Promise<void> => {
  if (path === '/') throw fail('unprocessable', { reason: 'the root directory cannot be deleted' })
  if (recursive) return port.removeTree(path)
  try {
    await port.rmdir(path)
  } catch (error) {
    // A link to a directory: only the link is removed.
    if (errno(error) !== 'ENOTDIR') throw error
    await port.unlink(path)
  }
}

export const createFiles = (deps: { port: FilePort; owners: Owners; whole: WholeFiles }): Files => {
  const { port, owners, whole } = deps
  const object: Files['object'] = async (opened, path, shown) => {
    if (opened.stat.kind !== 'directory') return fileObject(opened, shown, owners)
    dropFd(opened.fd)
    try {
      return await listDirectory(deps, path, shown)
    } catch (error) {
      throw asUnprocessable(error)
    }
  }
  return {
    port,
    owners,
    whole,
    open: path => openForRead(port, path),
    object,
    read: async (path, shown) => object(await openForRead(port, path), path, shown),
    list: (path, shown) => listDirectory(deps, path, shown),
    async write(path, content, mode) {
      try {
        const bytes = typeof content === 'string' ? Buffer.from(content) : content
        await whole.write(path, bytes, { fresh: mode, asProcess: true })
      } catch (error) {
        throw asUnprocessable(error)
      }
    },
    async makeDirectory(path, mode) {
      try {
        await port.mkdir(path, mode)
      } catch (error) {
        throw asUnprocessable(error)
      }
    },
    kindOf: path => kindOf(port, path),
    async remove(path, recursive) {
      const kind = await kindOf(port, path)
      try {
        if (kind === 'directory') await removeDirectory(port, path, recursive)
        else await port.unlink(path)
      } catch (error) {
        throw asUnprocessable(error)
      }
      return kind
    },
  }
}

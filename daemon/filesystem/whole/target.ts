/** The file that a path leads to. */
import { posix } from 'node:path'
import { errno } from '../../../shared/errors.ts'
import type { FilePort, FileStat } from '../port.ts'

export interface Target {
  /** The path without links at its end. */
  readonly real: string
  /** Undefined when nothing is there yet. */
  readonly stat: FileStat | undefined
}

/** As many links as the kernel follows. */
const mostLinks = 40

const tooManyLinks = (path: string) =>
  Object.assign(new Error(`ELOOP: too many symbolic links encountered, open '${path}'`), { code: 'ELOOP' })

/** Where a link that leads to nothing points, however many links that takes; `path` itself when it is no link. */
const endOf = async (port: FilePort, path: string): Promise<string> => {
  let at = path
  for (let count = 0; count < mostLinks; count++) {
    const kind = await port.lstat(at).then(
      stat => stat.kind,
      error => {
        if (errno(error) !== 'ENOENT') throw error
        return undefined
      },
    )
    if (kind !== 'symlink') return at
    const to = await port.readlink(at)
    // Not cleaned: `..` behind a link to a directory is for the kernel to resolve.
    at = to.startsWith('/') ? to : `${posix.dirname(at)}/${to}`
  }
  throw tooManyLinks(path)
}

/** Links are followed, as open(2) does: one that leads to nothing names the file that would be made. Throws system errors. */
export const targetOf = async (port: FilePort, path: string): Promise<Target> => {
  try {
    const real = await port.realpath(path)
    return { real, stat: await port.stat(real) }
  } catch (error) {
    if (errno(error) !== 'ENOENT') throw error
    return { real: await endOf(port, path), stat: undefined }
  }
}

/** File operations on threads of libuv's pool, as another user if need be (`files.c`). */
import { getSystemErrorMessage, getSystemErrorName } from 'node:util'
import { lazy, loadAddon } from '../load.ts'

/** In the order of the addon's enumeration. */
const operations = [
  'open',
  'stat',
  'lstat',
  'scandir',
  'list',
  'mkdir',
  'readlink',
  'realpath',
  'symlink',
  'rename',
  'unlink',
  'rmdir',
  'rm',
  'link',
  'chown',
  'chmod',
  'touch',
  'openRead',
  'access',
  'name',
  'resemble',
  'fchown',
  'fchmod',
  'stage',
  'publish',
] as const
type Operation = (typeof operations)[number]

interface FilesAddon {
  run(
    operation: number,
    uid: number,
    gid: number,
    path: string,
    other: string,
    flags: number,
    mode: number,
  ): Promise<Buffer | number> | Buffer | number
}

export interface FileOperation {
  readonly operation: Operation
  readonly path: string
  readonly other?: string
  readonly flags?: number
  readonly mode?: number
}

const addon = lazy(() => loadAddon<FilesAddon>('files'))

/** Operations whose second text is no path. */
const withNumber: ReadonlySet<Operation> = new Set(['touch', 'fchown'])
/** Operations that have another name in the kernel. */
const syscalls: Partial<Record<Operation, string>> = {
  openRead: 'open',
  name: 'link',
  resemble: 'chown',
  stage: 'open',
  publish: 'rename',
}

/** Worded as node:fs does, so that callers need not know which of the two failed. */
const failure = (errno: number, { operation, path, other }: FileOperation): NodeJS.ErrnoException => {
  const code = getSystemErrorName(-errno)
  const names = other === undefined || withNumber.has(operation) ? `'${path}'` : `'${path}' -> '${other}'`
  const syscall = syscalls[operation] ?? operation
  const message = `${code}: ${getSystemErrorMessage(-errno)}, ${syscall} ${names}`
  return Object.assign(new Error(message), { code, errno: -errno, syscall, path })
}

/**
 * Runs one operation with the file system rights of `user` (its user and primary group, no other groups), or with the
 * daemon's own when it is `undefined`. Resolves with a number, or with the bytes that `files.c` describes. Throws
 * system errors worded as node:fs words them, and `EPERM` when the thread cannot take the user's ids.
 */
export const runFileOperation = async (
  user: { readonly uid: number; readonly gid: number } | undefined,
  request: FileOperation,
): Promise<Buffer | number> => {
  const { operation, path, other = '', flags = 0, mode = 0 } = request
  const { uid, gid } = user ?? { uid: -1, gid: -1 }
  const answer = await addon().run(operations.indexOf(operation), uid, gid, path, other, flags, mode)
  if (typeof answer === 'number' && answer < 0) throw failure(-answer, request)
  return answer
}

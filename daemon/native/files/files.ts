/** File operations on threads of our own, as another user if need be (`files.c`). */
import { getSystemErrorMessage, getSystemErrorName } from 'node:util'
import type { FilePort, FileKind, FileStat } from '../../filesystem/port.ts'
import { textOf } from '../../../shared/utf8.ts'
import { kindOf } from '../../filesystem/stat.ts'
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
  ): Promise<Buffer | number> | number
}

interface Request {
  readonly operation: Operation
  readonly path: string
  readonly other?: string
  readonly flags?: number
  readonly mode?: number
}

const addon = lazy(() => loadAddon<FilesAddon>('files'))
const recordBytes = 48

/** Six doubles, in the machine's (little-endian) order. */
const statAt = (bytes: Buffer, at: number): FileStat => {
  const field = (index: number) => bytes.readDoubleLE(at + index * 8)
  const mode = field(0)
  return {
    kind: kindOf(mode),
    mode,
    size: field(1),
    uid: field(2),
    gid: field(3),
    mtimeNs: BigInt(field(4)) * 1_000_000_000n + BigInt(field(5)),
  }
}

const entries = (bytes: Buffer): { name: string; kind: FileKind; stat: FileStat }[] => {
  const found = []
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(0, at + recordBytes)
    const stat = statAt(bytes, at)
    found.push({ name: textOf(bytes.subarray(at + recordBytes, end)), kind: stat.kind, stat })
    at = end + 1
  }
  return found
}

/** As node:fs words it, so that callers need not know who answered. */
const failure = (errno: number, { operation, path, other }: Request): NodeJS.ErrnoException => {
  const code = getSystemErrorName(-errno)
  const names = other === undefined || operation === 'touch' ? `'${path}'` : `'${path}' -> '${other}'`
  const message = `${code}: ${getSystemErrorMessage(-errno)}, ${operation} ${names}`
  return Object.assign(new Error(message), { code, errno: -errno, syscall: operation, path })
}

/**
 * The port to the file system with the rights of `user`: its user and primary group, no others; `undefined`: ours.
 * Fails closed: when the ids cannot be taken on, every verb fails with `EPERM`. What turns out to be the daemon's own
 * memory or environment (`/proc/1/mem` by whatever path) cannot be opened: the kernel does not keep a process from
 * itself, and requests come from tenants. Reads directories several times faster than node:fs, which takes a turn on
 * the thread pool for each entry.
 */
export const filesAs = (user: { readonly uid: number; readonly gid: number } | undefined): FilePort => {
  const { uid, gid } = user ?? { uid: -1, gid: -1 }
  const ask = async (request: Request): Promise<Buffer | number> => {
    const { operation, path, other = '', flags = 0, mode = 0 } = request
    const answer = await addon().run(operations.indexOf(operation), uid, gid, path, other, flags, mode)
    if (typeof answer === 'number' && answer < 0) throw failure(-answer, request)
    return answer
  }
  const bytes = async (request: Request): Promise<Buffer> => (await ask(request)) as Buffer
  const done = async (request: Request): Promise<void> => void (await ask(request))
  const rename: FilePort['rename'] = (from, to) => done({ operation: 'rename', path: from, other: to })
  return {
    open: async (path, flags, mode = 0o666) => (await ask({ operation: 'open', path, flags, mode })) as number,
    stat: async path => statAt(await bytes({ operation: 'stat', path }), 0),
    lstat: async path => statAt(await bytes({ operation: 'lstat', path }), 0),
    readdir: async path =>
      entries(await bytes({ operation: 'scandir', path })).map(({ name, kind }) => ({ name, kind })),
    list: async path => entries(await bytes({ operation: 'list', path })),
    mkdir: (path, mode) => done({ operation: 'mkdir', path, mode }),
    readlink: async path => textOf(await bytes({ operation: 'readlink', path })),
    realpath: async path => textOf(await bytes({ operation: 'realpath', path })),
    symlink: (target, path) => done({ operation: 'symlink', path: target, other: path }),
    rename,
    link: (from, to) => done({ operation: 'link', path: from, other: to }),
    chown: (path, uid, gid) => done({ operation: 'chown', path, flags: uid, mode: gid }),
    chmod: (path, mode) => done({ operation: 'chmod', path, mode }),
    touch: (path, mtimeNs) => done({ operation: 'touch', path, other: String(mtimeNs) }),
    unlink: path => done({ operation: 'unlink', path }),
    rmdir: path => done({ operation: 'rmdir', path }),
    removeTree: path => done({ operation: 'rm', path }),
    ...(user === undefined ? { adopt: rename } : {}),
  }
}

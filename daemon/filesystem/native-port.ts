/** The port to the file system over our addon (`native/files`). */
import { constants } from 'node:fs'
import { textOf } from '../../shared/utf8.ts'
import { runFileOperation, type FileOperation } from '../native/files/files.ts'
import { searchFiles, walkDirectories } from '../native/search/search.ts'
import type { FileKind, FilePort, FileStat } from './port.ts'
import { kindOf } from './stat.ts'

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

interface FileUser {
  readonly uid: number
  readonly gid: number
}

/**
 * The port to the file system with the rights of `user`, or of whoever that function names at each call: its user and primary group, no others; undefined: ours. Fails
 * closed: when the ids cannot be taken on, every verb fails with `EPERM`. The daemon's own memory and environment
 * (`/proc/1/mem`, by whatever path) cannot be opened: the kernel lets a process read its own, and these requests come
 * from tenants. Reads directories several times faster than node:fs, which uses the thread pool once per entry.
 */
export const createFilePort = (user: FileUser | (() => FileUser | undefined) | undefined): FilePort => {
  const current = typeof user === 'function' ? user : () => user
  const number = async (request: FileOperation): Promise<number> =>
    (await runFileOperation(current(), request)) as number
  const bytes = async (request: FileOperation): Promise<Buffer> =>
    (await runFileOperation(current(), request)) as Buffer
  const done = async (request: FileOperation): Promise<void> => void (await runFileOperation(current(), request))
  const rename: FilePort['rename'] = (from, to) => done({ operation: 'rename', path: from, other: to })
  return {
    open: (path, flags, mode = 0o666) => number({ operation: 'open', path, flags, mode }),
    async openRead(path, flags) {
      const answer = await bytes({ operation: 'openRead', path, flags })
      const fd = answer.readDoubleLE(recordBytes)
      return { fd, stat: statAt(answer, 0), content: fd < 0 ? answer.subarray(recordBytes + 8) : undefined }
    },
    stat: async path => statAt(await bytes({ operation: 'stat', path }), 0),
    lstat: async path => statAt(await bytes({ operation: 'lstat', path }), 0),
    readdir: async path =>
      entries(await bytes({ operation: 'scandir', path })).map(({ name, kind }) => ({ name, kind })),
    list: async path => entries(await bytes({ operation: 'list', path })),
    walk: step => walkDirectories(current(), step),
    search: search => searchFiles(current(), search),
    mkdir: (path, mode) => done({ operation: 'mkdir', path, mode }),
    readlink: async path => textOf(await bytes({ operation: 'readlink', path })),
    realpath: async path => textOf(await bytes({ operation: 'realpath', path })),
    symlink: (target, path) => done({ operation: 'symlink', path: target, other: path }),
    rename,
    link: (from, to) => done({ operation: 'link', path: from, other: to }),
    chown: (path, uid, gid) => done({ operation: 'chown', path, flags: uid, mode: gid }),
    chmod: (path, mode) => done({ operation: 'chmod', path, mode }),
    mayWrite: path => done({ operation: 'access', path, flags: constants.W_OK }),
    nameFd: (fd, path) => done({ operation: 'name', path, flags: fd }),
    resemble: (fd, path, { mode }) => number({ operation: 'resemble', path, flags: fd, mode: mode ? 1 : 0 }),
    async stage(path, { mode, writable }) {
      const answer = await bytes({ operation: 'stage', path, flags: writable ? 1 : 0, mode })
      const stat = statAt(answer, 0)
      const real = textOf(answer.subarray(recordBytes + 8))
      return { fd: answer.readDoubleLE(recordBytes), real, stat: stat.mode === 0 ? undefined : stat }
    },
    publish: (fd, path, draft, { mode }) =>
      number({ operation: 'publish', path, other: draft, flags: fd, mode: mode ? 1 : 0 }),
    chownFd: (fd, path, uid, gid) => done({ operation: 'fchown', path, flags: fd, other: String(uid), mode: gid }),
    chmodFd: (fd, path, mode) => done({ operation: 'fchmod', path, flags: fd, mode }),
    touch: (path, mtimeNs) => done({ operation: 'touch', path, other: String(mtimeNs) }),
    unlink: path => done({ operation: 'unlink', path }),
    rmdir: path => done({ operation: 'rmdir', path }),
    removeTree: path => done({ operation: 'rm', path }),
    get adopt() {
      return current() === undefined ? rename : undefined
    },
  }
}

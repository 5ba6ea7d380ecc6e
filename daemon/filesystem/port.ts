/**
 * Everything that requests do to the tenant's file system goes through this port (`native-port.ts`). Where workloads
 * run under an unprivileged identity it works with the rights of that user, so that the kernel, and not our code,
 * decides what the tenant may reach. Paths are absolute and clean. Failures are Node's system errors (`code: 'ENOENT'`,
 * message with the system's text); the callers translate them. No verb may block for ever, whatever kind of file a path
 * names. Data does not pass through the port: `open` answers a descriptor of this process, which the caller reads,
 * writes, stats and closes with node:fs. Rights are checked at `open`.
 */

import type { FileSearch, WalkStep } from '../native/search/search.ts'

export type FileKind = 'file' | 'directory' | 'symlink' | 'fifo' | 'socket' | 'block' | 'char'

export interface FileStat {
  readonly kind: FileKind
  /** `st_mode` as the kernel gives it: type, setuid, setgid, sticky and permission bits. */
  readonly mode: number
  /** Bytes. */
  readonly size: number
  readonly uid: number
  readonly gid: number
  /** Nanoseconds since the epoch. */
  readonly mtimeNs: bigint
}

export interface Entry {
  readonly name: string
  readonly kind: FileKind
}

export interface OpenedForRead {
  readonly fd: number
  readonly stat: FileStat
  readonly content?: Buffer | undefined
}

export interface FilePort {
  /** A descriptor, close-on-exec; `flags` are `O_…` of node:fs, always with `O_NONBLOCK` and `O_NOCTTY` added. `mode` is subject to the umask. */
  open(path: string, flags: number, mode?: number): Promise<number>
  /**
   * Opens for reading, with what fstat says. The whole of a small regular file is read at once: then `content` is there, and `fd`
   * is -1, closed already. Flags as for `open`.
   */
  openRead(path: string, flags: number): Promise<OpenedForRead>
  /** Follows links. */
  stat(path: string): Promise<FileStat>
  lstat(path: string): Promise<FileStat>
  /** Names and kinds without following links, in no order. */
  readdir(path: string): Promise<Entry[]>
  /** As `readdir`, with the `lstat` of each; an entry that vanishes meanwhile is left out. */
  list(path: string): Promise<(Entry & { readonly stat: FileStat })[]>
  /** The next entries of a walk; nothing below the start that is a link is followed. See `walkDirectories`. */
  walk(step: WalkStep): Promise<{ visited: Buffer; pending: Buffer }>
  /** Lines of files that contain a text. See `searchFiles`. */
  search(search: FileSearch): Promise<Buffer>
  /** With parents, which get 0755; one that exists is fine. `mode` is subject to the umask. */
  mkdir(path: string, mode: number): Promise<void>
  readlink(path: string): Promise<string>
  realpath(path: string): Promise<string>
  symlink(target: string, path: string): Promise<void>
  /** A second name for a file; a link is not followed. */
  link(from: string, to: string): Promise<void>
  /** Changes the owner; a link is not followed. */
  chown(path: string, uid: number, gid: number): Promise<void>
  /** All twelve bits, whatever the umask. */
  chmod(path: string, mode: number): Promise<void>
  /** Throws `EACCES`, `EROFS`, … when the file may not be written; links are followed. */
  mayWrite(path: string): Promise<void>
  /** The first name of a file that was opened without one (O_TMPFILE). */
  nameFd(fd: number, path: string): Promise<void>
  /**
   * Gives an open file the owner, the attributes and, with `mode`, the mode of the regular file at `path`. Answers how many names that
   * file has (0: it is no regular file); with more than one, nothing was changed. Throws `EPERM` for an owner that cannot be given.
   */
  resemble(fd: number, path: string, keep: { readonly mode: boolean }): Promise<number>
  /**
   * The plain case of a write in one step: an unnamed file beside the regular file that `path` leads to, or beside the name of one that
   * is missing (`stat` undefined). Any failure means that it is no plain case, or has to fail: the single verbs tell which.
   */
  stage(
    path: string,
    options: { readonly mode: number; readonly writable: boolean },
  ): Promise<{ readonly fd: number; readonly real: string; readonly stat: FileStat | undefined }>
  /**
   * `resemble`, `nameFd` and `rename` in one step: gives an unnamed file the name `path` by way of the name `draft`. Answers how many names
   * the file there has; with more than one, nothing was done. After a failure the file has no name.
   */
  publish(fd: number, path: string, draft: string, keep: { readonly mode: boolean }): Promise<number>
  /** Changes the owner of an open file; `path` is what errors name. */
  chownFd(fd: number, path: string, uid: number, gid: number): Promise<void>
  /** All twelve bits, as `chmod`; `path` is what errors name. */
  chmodFd(fd: number, path: string, mode: number): Promise<void>
  /** Sets the time of the last change, in nanoseconds since the epoch; a link is not followed. */
  touch(path: string, mtimeNs: bigint): Promise<void>
  rename(from: string, to: string): Promise<void>
  unlink(path: string): Promise<void>
  /** An empty directory. */
  rmdir(path: string): Promise<void>
  /** A file, link or whole directory; links inside are removed, not followed. `ENOENT` when `path` itself is missing. */
  removeTree(path: string): Promise<void>
  /**
   * Renames a file that the daemon itself wrote into the tenant's tree. Only where the daemon and the workload are the
   * same identity: otherwise the file would belong to the wrong one, and callers copy instead.
   */
  readonly adopt: ((from: string, to: string) => Promise<void>) | undefined
}

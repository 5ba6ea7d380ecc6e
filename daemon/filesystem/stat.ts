import { constants, type BigIntStats } from 'node:fs'
import type { FileKind, FileStat } from './port.ts'

const kinds: Readonly<Record<number, FileKind>> = {
  [constants.S_IFREG]: 'file',
  [constants.S_IFDIR]: 'directory',
  [constants.S_IFLNK]: 'symlink',
  [constants.S_IFIFO]: 'fifo',
  [constants.S_IFSOCK]: 'socket',
  [constants.S_IFBLK]: 'block',
  [constants.S_IFCHR]: 'char',
}

/** The kind of file that the type bits of `st_mode` name. */
export const kindOf = (mode: number): FileKind => kinds[mode & constants.S_IFMT] ?? 'file'

/** The part of a stat result that callers need. */
export const toFileStat = (stats: BigIntStats): FileStat => {
  const mode = Number(stats.mode)
  return {
    kind: kindOf(mode),
    mode,
    size: Number(stats.size),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
    mtimeNs: stats.mtimeNs,
  }
}

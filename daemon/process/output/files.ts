import { closeSync, constants, fchmodSync, fchownSync, fstatSync, openSync, renameSync, rmSync } from 'node:fs'
import { errno } from '../../../shared/errors.ts'
import type { OutputPaths } from './names.ts'
import { takeOrOpen, type OutputFilePools, type FilePool } from './file-pool.ts'

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDWR, O_TRUNC } = constants

/** The files of one capture. They are opened when they are needed and closed when nobody needs them. */
export interface OutputFiles {
  readonly isOpen: boolean
  /** Descriptors of stdout and stderr. */
  streams(): readonly [number, number]
  combined(): number
  close(): void
  move(to: OutputPaths): void
  remove(): void
}

interface FilesOptions {
  readonly paths: OutputPaths
  /** Makes new ones at once. */
  readonly fresh: boolean
  /** Whether a missing file may be made. */
  readonly mayMake: () => boolean
  /** Whether the combined log is empty, whatever is in its file. */
  readonly combinedIsEmpty: () => boolean
  readonly pools?: OutputFilePools | undefined
  /** Group that may open new streams for writing: a workload that is not root needs it to open /dev/stdout. */
  readonly group?: number | undefined
}

const openOwn = (path: string, flags: number): number => {
  const fd = openSync(path, flags | O_NOFOLLOW | O_NONBLOCK, 0o644)
  if (fstatSync(fd).isFile()) return fd
  closeSync(fd)
  throw Object.assign(new Error(`${path} is no regular file`), { code: 'ENOENT' })
}

/** A new file in place of whatever has the name, which belongs to no process that is listed. */
const openNew = (path: string, pools: FilePool | undefined): number => {
  const make = (): number => openOwn(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL)
  const take = (): number => pools?.take(path, make) ?? make()
  try {
    return take()
  } catch (error) {
    if (errno(error) !== 'EEXIST') throw error
    rmSync(path)
    return take()
  }
}

const shareWith = (fd: number, group: number): number => {
  fchownSync(fd, process.geteuid?.() ?? 0, group)
  fchmodSync(fd, 0o664)
  return fd
}

const both = (paths: readonly [string, string], open: (path: string) => number): readonly [number, number] => {
  const first = open(paths[0])
  try {
    return [first, open(paths[1])]
  } catch (error) {
    closeSync(first)
    throw error
  }
}

const renameIfThere = (from: string, to: string): void => {
  try {
    renameSync(from, to)
  } catch (error) {
    // A silent process has no combined log and no positions.
    if (errno(error) !== 'ENOENT') throw error
  }
}

/** True for the errors of a file that a tenant removed or replaced by something else. */
export const isGone = (error: unknown): boolean =>
  ['ENOENT', 'ELOOP', 'ENXIO', 'EISDIR', 'ENOTDIR'].includes(errno(error) ?? '')

/** Removes the files of a run, even while they are open. */
export const removeOutput = ({ streams, combined, positions }: OutputPaths): void => {
  for (const path of [...streams, combined, positions]) rmSync(path, { force: true })
}

export const createOutputFiles = (options: FilesOptions): OutputFiles => {
  const { fresh, mayMake, combinedIsEmpty, pools, group } = options
  let { paths } = options
  let combined: number | undefined
  let streams: readonly [number, number] | undefined
  const make = (path: string): number => {
    const fd = openNew(path, pools?.streams)
    return group === undefined ? fd : shareWith(fd, group)
  }
  if (fresh) streams = both(paths.streams, make)
  const close = (): void => {
    for (const fd of streams ?? []) closeSync(fd)
    if (combined !== undefined) closeSync(combined)
    streams = combined = undefined
  }
  return {
    get isOpen() {
      return streams !== undefined || combined !== undefined
    },
    streams() {
      const flags = mayMake() ? O_RDWR | O_APPEND | O_CREAT : O_RDWR
      return (streams ??= both(paths.streams, path => openOwn(path, flags)))
    },
    combined() {
      const flags = O_RDWR | (mayMake() ? O_CREAT : 0) | (combinedIsEmpty() ? O_TRUNC : 0)
      const spare = combinedIsEmpty() && mayMake() ? pools?.combined : undefined
      return (combined ??= takeOrOpen(spare, paths.combined, () => openOwn(paths.combined, flags)))
    },
    close,
    move(to) {
      for (const stream of [0, 1] as const) renameIfThere(paths.streams[stream], to.streams[stream])
      renameIfThere(paths.combined, to.combined)
      renameIfThere(paths.positions, to.positions)
      paths = to
    },
    remove() {
      close()
      removeOutput(paths)
    },
  }
}

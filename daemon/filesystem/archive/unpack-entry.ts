/**
 * Unpacks one entry of an archive. A hostile archive tries to write outside of its directory, so: names are relative
 * and without `..`; nothing is written through a link that the archive (or an earlier one) made; hard links point
 * inside; devices and fifos are skipped.
 */
import { constants } from 'node:fs'
import { posix } from 'node:path'
import { errno, fail } from '../../../shared/errors.ts'
import { copyFd, dropFd, statFd, touchFd, truncateFd } from '../descriptor.ts'
import type { FilePort } from '../port.ts'
import { createFileSink } from '../transfer/file-sink.ts'
import type { TarEntry } from './tar/read.ts'
import type { WholeFiles } from '../whole/whole.ts'

/** One archive on its way into `root`. */
export interface Unpacking {
  readonly port: FilePort
  readonly whole: WholeFiles
  readonly root: string
  /** Owners and all bits of the mode are restored, as far as the port has the right to. */
  readonly owners: boolean
  /** Directories below the root that were found to be no links; the archive cannot replace them by links. */
  readonly entered: Set<string>
  /** What to do with directories once all of their content is there. */
  readonly last: (() => Promise<void>)[]
}

const { O_RDONLY, O_NOFOLLOW } = constants
const readBytes = 256 * 1024

const refusal = (name: string, reason: string, cause?: unknown) =>
  fail('invalid_argument', { field: `entry "${name.slice(0, 200)}"`, reason }, cause)

/** The segments of a safe name; empty for the directory itself. */
const segmentsOf = (name: string): string[] => {
  if (name.includes('\0')) throw refusal(name, 'must not contain NUL')
  if (name.startsWith('/')) throw refusal(name, 'must be relative')
  const segments = name.split('/').filter(segment => segment !== '' && segment !== '.')
  if (segments.includes('..')) throw refusal(name, 'must not contain ..')
  return segments
}

const orUndefined = <T>(work: Promise<T>): Promise<T | undefined> =>
  work.catch(error => {
    if (errno(error) === 'ENOENT') return undefined
    throw error
  })

/** The path of an entry. Every directory on the way must be a directory and not a link to one. */
const placeOf = async (unpacking: Unpacking, name: string, segments: readonly string[]): Promise<string> => {
  const { port, root, entered } = unpacking
  let at = root
  for (const segment of segments.slice(0, -1)) {
    at = posix.join(at, segment)
    if (entered.has(at)) continue
    const stat = await orUndefined(port.lstat(at))
    if (!stat) break
    if (stat.kind !== 'directory') throw refusal(name, `${at} is a ${stat.kind}, not a directory`)
    entered.add(at)
  }
  return posix.join(root, ...segments)
}

const nanosecondsOf = (seconds: number): bigint => BigInt(Math.round(seconds * 1000)) * 1_000_000n

/** The owner first, since changing it clears the set-user-id bit. */
const own = async ({ port, owners }: Unpacking, path: string, { uid, gid, mode }: TarEntry): Promise<void> => {
  if (!owners) return
  await port.chown(path, uid, gid)
  await port.chmod(path, mode & 0o7777)
}

const fill = async (fd: number, entry: TarEntry): Promise<void> => {
  let end = 0
  for (const { offset, length } of entry.spans) {
    const sink = createFileSink(fd, offset)
    try {
      for (let left = length; left > 0; ) {
        const piece = await entry.read(Math.min(readBytes, left))
        left -= piece.length
        await sink.write(piece)
      }
      await sink.finish()
    } finally {
      await sink.settle()
    }
    if (length > 0) end = Math.max(end, offset + length)
  }
  if (end < entry.size) await truncateFd(fd, entry.size)
}

const writeFile = async ({ port, whole, owners }: Unpacking, path: string, entry: TarEntry): Promise<void> => {
  const { uid, gid, mode, mtime } = entry
  await whole.supplant(path, mode & 0o777, async fd => {
    await fill(fd, entry)
    if (owners) {
      await port.chownFd(fd, path, uid, gid)
      await port.chmodFd(fd, path, mode & 0o7777)
    }
    await touchFd(fd, mtime)
  })
}

/** Errors of a file system without hard links, or with no room for another. */
const unlinkable: ReadonlySet<string> = new Set(['EPERM', 'EXDEV', 'EMLINK', 'EOPNOTSUPP', 'ENOTSUP'])

const copyFile = async ({ port, whole }: Unpacking, from: string, to: string): Promise<void> => {
  const source = await port.open(from, O_RDONLY | O_NOFOLLOW)
  try {
    const stat = await statFd(source)
    await whole.supplant(to, stat.mode & 0o777, fd => copyFd({ fd: source, at: 0 }, { fd, at: 0 }, stat.size))
  } finally {
    dropFd(source)
  }
}

const linkFile = async (unpacking: Unpacking, path: string, entry: TarEntry): Promise<void> => {
  const { port, whole } = unpacking
  const from = await placeOf(unpacking, entry.linkname, segmentsOf(entry.linkname))
  const target = await orUndefined(port.lstat(from))
  if (target?.kind !== 'file') throw refusal(entry.name, `links to "${entry.linkname.slice(0, 200)}", which is no file`)
  if (from === path) return
  await port.mkdir(posix.dirname(path), 0o755)
  try {
    await whole.supplantBy(path, at => port.link(from, at))
  } catch (error) {
    if (!unlinkable.has(errno(error) ?? '')) throw error
    await copyFile(unpacking, from, path)
  }
}

/** Directories that were there keep their owner and mode, unless owners are restored. */
const makeDirectory = async (unpacking: Unpacking, path: string, entry: TarEntry): Promise<void> => {
  const { port, entered, last, owners } = unpacking
  const there = await orUndefined(port.lstat(path))
  if (there && there.kind !== 'directory') throw refusal(entry.name, `${path} is a ${there.kind}, not a directory`)
  const { mode, mtime } = entry
  // Writable for us until it is filled.
  if (!there) await port.mkdir(path, (mode & 0o777) | 0o700)
  entered.add(path)
  if (there && !owners) return
  last.push(async () => {
    await own(unpacking, path, entry)
    if (!owners && (mode & 0o700) !== 0o700) {
      const made = await port.lstat(path)
      await port.chmod(path, made.mode & 0o777 & (mode | 0o077))
    }
    await port.touch(path, nanosecondsOf(mtime))
  })
}

/** Unpacks one entry; false when it was skipped. Throws `invalid_argument`, system errors. */
export const unpackEntry = async (unpacking: Unpacking, entry: TarEntry): Promise<boolean> => {
  const { port, whole } = unpacking
  const { kind, name } = entry
  const segments = segmentsOf(name)
  if (kind === 'other') return false
  if (segments.length === 0 && kind !== 'directory') throw refusal(name, 'must name something')
  const path = await placeOf(unpacking, name, segments)
  if (kind === 'directory') {
    if (segments.length === 0 && !unpacking.owners) return false
    await makeDirectory(unpacking, path, entry)
  } else if (kind === 'symlink') {
    if (entry.linkname === '') throw refusal(name, 'is a link to nothing')
    await port.mkdir(posix.dirname(path), 0o755)
    // A link may point anywhere, as one made by a process may; nothing of the archive is written through it.
    await whole.supplantBy(path, at => port.symlink(entry.linkname, at))
    if (unpacking.owners) await port.chown(path, entry.uid, entry.gid)
  } else if (kind === 'link') await linkFile(unpacking, path, entry)
  else await writeFile(unpacking, path, entry)
  return true
}

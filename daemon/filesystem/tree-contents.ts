/**
 * A directory with what is below it, and with the content of its files: level by level, so that what is near is there when something has
 * to be left out. What is left out is marked where it is missing. Links are shown and not followed.
 */
import { constants } from 'node:fs'
import { errno } from '../../shared/errors.ts'
import { jsonBytes, mostJsonBytes } from '../../shared/json-size.ts'
import type { FileEntry } from './describe.ts'
import { dropFd, readAll, statFd } from './descriptor.ts'
import type { Files } from './files.ts'
import { kernelFilesystems } from './kernel-filesystems.ts'
import type { TreeDirectory, TreeFile } from '../../shared/wire/file-shapes.ts'

/** What one answer holds at most; content in bytes that it takes as JSON. */
const treeLimits = { bytes: 16 * 1024 * 1024, entries: 10_000, depth: 32 } as const
type Limits = Readonly<Record<keyof typeof treeLimits, number>>

interface Asked {
  readonly recursive: boolean
  readonly content: boolean
}

interface Walk {
  readonly files: Files
  readonly asked: Asked
  readonly limits: Limits
  readonly signal: AbortSignal
  bytes: number
  entries: number
}

/** A directory of the answer that is to be filled in. */
interface Open {
  readonly at: TreeDirectory
  readonly depth: number
}

/** The text of a regular file, or why it is left out. Never a link's: one that was put there meanwhile is not followed either. */
const contentOf = async (walk: Walk, path: string): Promise<Pick<TreeFile, 'content' | 'truncated'>> => {
  const left = walk.limits.bytes - walk.bytes
  let fd: number | undefined
  try {
    fd = await walk.files.port.open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    const { kind, size } = await statFd(fd)
    if (kind !== 'file') return { truncated: 'unreadable' }
    if (size > left) return { truncated: 'bytes' }
    const bytes = await readAll(fd, size, left)
    const cost = jsonBytes(bytes)
    if (cost > left) return { truncated: 'bytes' }
    walk.bytes += cost
    return { content: bytes.toString('utf8') }
  } catch (error) {
    // A link has no content of its own. What is gone, without rights or larger than it said is marked.
    return errno(error) === 'ELOOP' ? {} : { truncated: 'unreadable' }
  } finally {
    if (fd !== undefined) dropFd(fd)
  }
}

const filled = async (walk: Walk, entries: readonly FileEntry[]): Promise<TreeFile[]> => {
  if (!walk.asked.content) return [...entries]
  const files: TreeFile[] = []
  for (const file of entries) {
    walk.signal.throwIfAborted()
    files.push({ ...file, ...(await contentOf(walk, file.path)) })
  }
  return files
}

/** Fills in one level and answers the directories that are next. */
const look = async (walk: Walk, { at, depth }: Open): Promise<Open[]> => {
  const { asked, limits, files } = walk
  const listed = await files.list(at.path, at.path)
  const room = limits.entries - walk.entries
  const [first, directories] = [listed.files.slice(0, room), listed.subdirectories.slice(0, room)]
  const subdirectories: TreeDirectory[] = directories.slice(0, Math.max(0, room - first.length))
  walk.entries += first.length + subdirectories.length
  at.files = await filled(walk, first)
  at.subdirectories = subdirectories
  if (first.length + subdirectories.length < listed.files.length + listed.subdirectories.length)
    at.truncated = 'entries'
  if (!asked.recursive) return []
  const deeper = subdirectories.filter(({ path }) => !kernelFilesystems.has(path))
  if (depth < limits.depth) return deeper.map(next => ({ at: next, depth: depth + 1 }))
  for (const one of deeper) one.truncated = 'depth'
  return []
}

/** `path` must be a directory; throws the port's system errors when it is none. */
export const readContents = async (
  files: Files,
  path: string,
  { limits, ...options }: Asked & { signal: AbortSignal; limits?: Partial<Limits> },
): Promise<TreeDirectory> => {
  const walk: Walk = {
    files,
    asked: options,
    // A name beyond ASCII doubles all the others.
    limits: { ...treeLimits, bytes: Math.min(treeLimits.bytes, Math.floor(mostJsonBytes() / 2)), ...limits },
    signal: options.signal,
    bytes: 0,
    entries: 0,
  }
  const { name } = await files.list(path, path)
  const root: TreeDirectory = { path, name }
  const waiting = await look(walk, { at: root, depth: 1 })
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    walk.signal.throwIfAborted()
    try {
      waiting.push(...(await look(walk, next)))
    } catch {
      // Gone, or without the rights: the others are there all the same.
      next.at.truncated = 'unreadable'
    }
  }
  return root
}

/**
 * Checks of untrusted archives. Every entry of a zip or tar passes them before anything is written: names
 * and links stay inside, no name comes twice, nothing lies below a link or a file, and all of it together has an end.
 */
import { posix } from 'node:path'
import { fail } from '../../../../shared/errors.ts'

export interface ArchiveLimits {
  /** Bytes of all files together, unpacked. */
  readonly maxBytes: number
  readonly maxEntries: number
}

export type EntryType = 'file' | 'directory' | 'link' | 'hardlink' | 'other'

export interface CheckedEntry {
  /** As it is in the archive. */
  readonly name: string
  readonly type: EntryType
  /** Bytes, unpacked. */
  readonly size: number
  /** Where a link points. */
  readonly target?: string
}

const longestName = 4_096
const longestPart = 255

/** A name as an error shows it. */
const shown = (name: string): string => JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name)

export const refuseEntry = (name: string, reason: string) =>
  fail('unprocessable', { reason: `entry ${shown(name)} of the archive ${reason}` })

/** The name in one form, without `./` and a last slash; '' for the root itself. Throws `unprocessable`. */
const plainName = (name: string): string => {
  if (name === '') throw refuseEntry(name, 'has no name')
  if (name.includes('\0') || name.includes('\\'))
    throw refuseEntry(name, 'has a character in its name that is not allowed')
  if (name.startsWith('/') || /^[A-Za-z]:/.test(name)) throw refuseEntry(name, 'has an absolute name')
  const parts = name.split('/').filter(part => part !== '' && part !== '.')
  if (parts.includes('..')) throw refuseEntry(name, 'leads out of the archive')
  const plain = parts.join('/')
  if (Buffer.byteLength(plain) > longestName || parts.some(part => Buffer.byteLength(part) > longestPart))
    throw refuseEntry(name, 'has a name that is too long')
  return plain
}

/** Throws where a link of that name points out of the archive. */
const checkTarget = (name: string, plain: string, target: string): void => {
  if (target === '' || target.includes('\0')) throw refuseEntry(name, 'is a link to nothing')
  if (Buffer.byteLength(target) > longestName) throw refuseEntry(name, 'is a link to a name that is too long')
  const reached = posix.normalize(posix.join(posix.dirname(plain), target))
  if (target.startsWith('/') || reached === '..' || reached.startsWith('../'))
    throw refuseEntry(name, `is a link that leads out of the archive, to ${shown(target)}`)
}

const parentsOf = (plain: string): string[] => {
  const parts = plain.split('/').slice(0, -1)
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
}

export interface EntryChecks {
  /** The plain name of an entry that may be unpacked; '' for the root. Throws `unprocessable` naming the entry. */
  check(entry: CheckedEntry): string
}

/** Checks the entries of one archive, in their order. */
export const entryChecks = ({ maxBytes, maxEntries }: ArchiveLimits): EntryChecks => {
  /** Directories are what has entries below it, too. */
  const types = new Map<string, EntryType>()
  let bytes = 0
  let entries = 0
  const place = (name: string, plain: string, type: EntryType): void => {
    const before = types.get(plain)
    if (before !== undefined && !(before === 'directory' && type === 'directory'))
      throw refuseEntry(name, 'is there twice')
    for (const parent of parentsOf(plain)) {
      const above = types.get(parent) ?? 'directory'
      if (above !== 'directory') throw refuseEntry(name, `lies below ${shown(parent)}, which is no directory`)
      types.set(parent, 'directory')
    }
    types.set(plain, type)
  }
  return {
    check({ name, type, size, target = '' }) {
      entries += 1
      if (entries > maxEntries) throw refuseEntry(name, `is one more than the ${maxEntries} that may be in it`)
      const plain = plainName(name)
      if (type === 'other') throw refuseEntry(name, 'is a device, a pipe or a socket')
      if (plain === '' && type !== 'directory') throw refuseEntry(name, 'has no name')
      if (type === 'link') checkTarget(name, plain, target)
      // A hard link names its target from the root of the archive.
      if (type === 'hardlink') checkTarget(name, '', plainName(target))
      if (!Number.isSafeInteger(size) || size < 0) throw refuseEntry(name, 'has a size that cannot be')
      bytes += size
      if (bytes > maxBytes) throw refuseEntry(name, `makes it more than ${maxBytes} bytes when it is unpacked`)
      if (plain !== '') place(name, plain, type)
      return plain
    },
  }
}

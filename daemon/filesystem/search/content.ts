/** Finds lines that contain a text, in all regular files below a directory, several files at a time. */
import { constants } from 'node:fs'
import { posix } from 'node:path'
import { errno } from '../../../shared/errors.ts'
import { dropFd, readFd } from '../descriptor.ts'
import { glob } from './glob.ts'
import type { FilePort } from '../port.ts'
import { walk } from './walk.ts'

interface ContentQuery {
  readonly query: string
  readonly caseSensitive: boolean
  readonly filePattern: string | undefined
  readonly exclude: ReadonlySet<string>
  /** Ends the search after so many matches; may be infinite. */
  readonly limit: number
}

interface ContentMatch {
  /** Relative to the start. */
  readonly path: string
  /** From 1. */
  readonly line: number
  /** From 1, in bytes. */
  readonly column: number
  /** The whole line, at most 64 KiB of it. */
  readonly text: string
}

const readers = 8
const blockBytes = 1024 * 1024
/** Longer lines are searched in pieces of this size. */
const lineLimit = 8 * 1024 * 1024
const textLimit = 64 * 1024
/** A file is read up to here: /proc/kcore reports 128 TiB. */
const fileLimit = 1024 * 1024 * 1024

/** Offset in bytes of the first hit in `bytes` at or after `from`, or -1. */
type Seek = (bytes: Buffer, from: number) => number

const newline = 0x0a

/** How to search a block for `query`: line by line only where folding the case may change the number of bytes. */
const seeker = (query: string, caseSensitive: boolean): ((block: Buffer) => Seek) => {
  const needle = Buffer.from(query)
  if (caseSensitive) return () => (bytes, from) => bytes.indexOf(needle, from)
  if (/^[\x00-\x7f]*$/.test(query)) {
    const folded = query.toLowerCase()
    // One byte is one character of latin1, and its lower case is one as well: offsets stay true.
    return block => {
      const text = block.toString('latin1').toLowerCase()
      return (_, from) => text.indexOf(folded, from)
    }
  }
  const folded = query.toLowerCase()
  return () => (bytes, from) => {
    for (let start = from; start < bytes.length; ) {
      const found = bytes.indexOf(newline, start)
      const end = found < 0 ? bytes.length : found
      const line = bytes.toString('utf8', start, end).toLowerCase()
      const at = line.indexOf(folded)
      if (at >= 0) return start + Buffer.byteLength(line.slice(0, at))
      start = end + 1
    }
    return -1
  }
}

type Hit = Omit<ContentMatch, 'path'>

/** Searches whole lines; `firstLine` is the number of the first. False from `tell` stops. */
const searchLines = (block: Buffer, seek: Seek, firstLine: number, tell: (hit: Hit) => boolean): boolean => {
  let line = firstLine
  let counted = 0
  for (let at = seek(block, 0); at >= 0; ) {
    for (let next = block.indexOf(newline, counted); next >= 0 && next < at; next = block.indexOf(newline, counted)) {
      line++
      counted = next + 1
    }
    const found = block.indexOf(newline, at)
    const end = found < 0 ? block.length : found
    const last = block[end - 1] === 0x0d ? end - 1 : end
    const text = block.toString('utf8', counted, Math.min(last, counted + textLimit))
    if (!tell({ line, column: at - counted + 1, text })) return false
    if (found < 0) return true
    line++
    counted = end + 1
    at = counted < block.length ? seek(block, counted) : -1
  }
  return true
}

const linesIn = (block: Buffer): number => {
  let count = 0
  for (let at = block.indexOf(newline); at >= 0; at = block.indexOf(newline, at + 1)) count++
  return count
}

/** Memory of one reader, used for every file it reads; larger only while a line needs it. */
interface Space {
  bytes: Buffer
}

/** Room for at least `blockBytes` after the first `filled` bytes, which are kept. */
const roomIn = (space: Space, filled: number): Buffer => {
  if (space.bytes.length - filled >= blockBytes) return space.bytes
  const grown = Buffer.allocUnsafeSlow(filled + Math.max(filled, blockBytes))
  space.bytes.copy(grown, 0, 0, filled)
  space.bytes = grown
  return grown
}

const searchFile = async (
  fd: number,
  space: Space,
  seekIn: (block: Buffer) => Seek,
  tell: (hit: Hit) => boolean,
  signal: AbortSignal,
): Promise<void> => {
  let line = 1
  for (let total = 0, filled = 0; total < fileLimit && !signal.aborted; ) {
    const bytes = roomIn(space, filled)
    const count = await readFd(fd, bytes.subarray(filled, filled + blockBytes), null)
    total += count
    filled += count
    const block = bytes.subarray(0, filled)
    const cut = count === 0 || filled > lineLimit ? filled : block.lastIndexOf(newline) + 1
    const whole = block.subarray(0, cut)
    if (whole.length > 0 && !searchLines(whole, seekIn(whole), line, tell)) return
    if (count === 0) return
    line += linesIn(whole)
    bytes.copyWithin(0, cut, filled)
    filled -= cut
  }
}

/** In no particular order across files. Files and directories that cannot be read are passed over. */
export const searchContent = async (
  port: FilePort,
  start: string,
  query: ContentQuery,
  signal: AbortSignal,
): Promise<ContentMatch[]> => {
  const matches: ContentMatch[] = []
  const paths: string[] = []
  const wanted = query.filePattern ? glob(query.filePattern) : () => true
  const rules = { exclude: query.exclude, skipHidden: false, onError: () => {} }
  const visit = (path: string, entry: { name: string; kind: string }) => {
    if (entry.kind === 'file' && wanted(entry.name)) paths.push(path)
    return true
  }
  await walk(port, start, { ...rules, visit }, signal)
  const seekIn = seeker(query.query, query.caseSensitive)
  let next = 0
  const reader = async (): Promise<void> => {
    const space = { bytes: Buffer.allocUnsafeSlow(blockBytes) }
    while (next < paths.length && matches.length < query.limit) {
      signal.throwIfAborted()
      const path = paths[next++] as string
      let fd: number | undefined
      try {
        fd = await port.open(posix.join(start, path), constants.O_RDONLY | constants.O_NOFOLLOW)
        const tell = (hit: Hit) => {
          if (matches.length < query.limit) matches.push({ path, ...hit })
          return matches.length < query.limit
        }
        await searchFile(fd, space, seekIn, tell, signal)
        if (space.bytes.length > blockBytes) space.bytes = Buffer.allocUnsafeSlow(blockBytes)
      } catch (error) {
        // Not readable, or gone since it was listed.
        if (!errno(error)) throw error
      } finally {
        if (fd !== undefined) dropFd(fd)
      }
    }
  }
  await Promise.all(Array.from({ length: readers }, reader))
  return matches
}

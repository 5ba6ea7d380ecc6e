/**
 * Unpacks a tar that somebody has uploaded into a directory of the host. It has directories and regular files and nothing else: no links, so
 * that no path leads anywhere but below that directory, no devices, no sockets. Bounded in bytes and entries while it is read.
 */
import { createWriteStream } from 'node:fs'
import { mkdir, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { extract, type Header } from 'tar-stream'
import { errno, fail, isError, messageOf } from '../../../../shared/errors.ts'

export interface Bounds {
  readonly bytes: number
  readonly entries: number
}

export interface Unpacked {
  /** Bytes of its files. */
  readonly bytes: number
  /** The same in blocks of a file system. */
  readonly blockBytes: number
  readonly entries: number
}

const blockBytes = 4_096
const longestPath = 1_024

const refuseContent = (reason: string, cause?: unknown) => fail('invalid_argument', { field: 'content', reason }, cause)

/** Segments of an entry's path below the directory; none for the directory itself. */
const segmentsOf = (name: string): string[] => {
  if (name.startsWith('/')) throw refuseContent(`"${name}" is an absolute path`)
  if (name.length > longestPath) throw refuseContent(`a path is longer than ${longestPath} characters`)
  const segments = name.split('/').filter(segment => segment !== '' && segment !== '.')
  if (segments.includes('..')) throw refuseContent(`"${name}" leads out of the template`)
  if (segments.some(segment => segment.includes('\0') || Buffer.byteLength(segment) > 255))
    throw refuseContent(`"${name}" is no path of a file`)
  return segments
}

const plural: Readonly<Record<string, string>> = { symlink: 'a symbolic link', link: 'a hard link' }

const needPlain = ({ name, type }: Header): void => {
  if (type === 'file' || type === 'directory' || type === 'contiguous-file') return
  throw refuseContent(
    `"${name}" is ${plural[type ?? ''] ?? `a ${type ?? 'thing of no type'}`}; files and directories only`,
  )
}

/** Permissions alone: a set-user-ID bit of somebody else's archive is nobody's here. */
const modeOf = ({ mode = 0o644 }: Header): number => mode & 0o777

/** What is in the way of an entry is another entry: nobody else writes there. */
const clash = ({ name }: Header, error: unknown): unknown =>
  ['EEXIST', 'ENOTDIR', 'EISDIR'].includes(errno(error) ?? '')
    ? refuseContent(`"${name}" is there twice, or as a file and a directory`, error)
    : error

const makeDirectory = async (path: string, header: Header): Promise<void> => {
  await mkdir(path, { recursive: true, mode: 0o755 }).catch(error => {
    throw clash(header, error)
  })
}

const place = async (directory: string, header: Header, stream: Readable): Promise<void> => {
  const segments = segmentsOf(header.name)
  const path = join(directory, ...segments)
  if (header.type === 'directory') {
    stream.resume()
    return makeDirectory(path, header)
  }
  if (segments.length === 0) throw refuseContent('the template itself is a file')
  await makeDirectory(dirname(path), header)
  try {
    await pipeline(stream, createWriteStream(path, { flags: 'wx', mode: modeOf(header) }))
    if (header.mtime) await utimes(path, header.mtime, header.mtime)
  } catch (error) {
    throw clash(header, error)
  }
}

/** Throws `invalid_argument` of `content` for what a template must not have; what was unpacked by then stays in the directory. */
export const unpackTemplate = async (
  stream: Readable,
  directory: string,
  bounds: Bounds,
  signal?: AbortSignal,
): Promise<Unpacked> => {
  let bytes = 0
  let blocks = 0
  let entries = 0
  const entry = async (header: Header, content: Readable): Promise<void> => {
    needPlain(header)
    const size = header.size ?? 0
    bytes += size
    blocks += Math.ceil(size / blockBytes)
    entries += 1
    if (entries > bounds.entries) throw refuseContent(`it has more than ${bounds.entries} files and directories`)
    if (bytes > bounds.bytes) throw refuseContent(`its files are larger than ${bounds.bytes} bytes`)
    await place(directory, header, content)
  }
  const reader = extract()
  const reading = (async () => {
    for await (const content of reader) await entry(content.header, content as unknown as Readable)
  })()
  // Whoever fails first ends the other, and says why.
  const failed = reading.catch((error: unknown) => {
    reader.destroy(error as Error)
    throw error
  })
  try {
    await Promise.all([pipeline(stream, reader, { signal: signal ?? new AbortController().signal }), failed])
  } catch (error) {
    const why = await reading.then(
      () => error,
      (first: unknown) => first,
    )
    signal?.throwIfAborted()
    throw isError(why) || errno(why) === 'ENOSPC' ? why : refuseContent(`is no tar: ${messageOf(why)}`, why)
  }
  if (entries === 0) throw refuseContent('is empty')
  return { bytes, blockBytes: blocks * blockBytes, entries }
}

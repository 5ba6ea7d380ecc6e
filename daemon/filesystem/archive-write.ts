/**
 * Unpacks a tar stream into a directory. An archive may have been made to get out of it, so: names are relative and
 * without `..`; nothing is written through a link that the archive (or an earlier one) made; hard links point inside
 * and are copied; devices and fifos are passed over.
 */
import { constants } from 'node:fs'
import { posix } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { extract, type Extract, type Header } from 'tar-stream'
import { errno, fail, isError, messageOf } from '../../shared/errors.ts'
import { closeFd, copyFd, dropFd, statFd } from './descriptor.ts'
import type { FilePort } from './port.ts'
import { fileSink, pour } from './sink.ts'
import { openForWrite } from './write.ts'

export interface Unpacked {
  readonly entries: number
  /** Of content. */
  readonly bytes: number
}

const { O_WRONLY, O_CREAT, O_EXCL, O_RDONLY, O_NOFOLLOW } = constants

const refusal = (name: string, reason: string) =>
  fail('invalid_argument', { field: `entry "${name.slice(0, 200)}"`, reason })

/** The segments of a safe name; empty for the directory itself. */
const segmentsOf = (name: string): string[] => {
  if (name.includes('\0')) throw refusal(name, 'must not contain NUL')
  if (name.startsWith('/')) throw refusal(name, 'must be relative')
  const segments = name.split('/').filter(segment => segment !== '' && segment !== '.')
  if (segments.includes('..')) throw refusal(name, 'must not contain ..')
  return segments
}

/** Where an entry goes. Every directory on the way must be one, not a link to one. */
const placeOf = async (port: FilePort, root: string, name: string, segments: readonly string[]): Promise<string> => {
  let at = root
  for (const segment of segments.slice(0, -1)) {
    at = posix.join(at, segment)
    const stat = await port.lstat(at).catch(error => {
      if (errno(error) === 'ENOENT') return undefined
      throw error
    })
    if (stat && stat.kind !== 'directory') throw refusal(name, `${at} is a ${stat.kind}, not a directory`)
  }
  return posix.join(root, ...segments)
}

/** What is in the way of a file or link goes; a directory stays, which then is an error. */
const makeRoom = async (port: FilePort, path: string): Promise<void> => {
  try {
    await port.unlink(path)
  } catch (error) {
    if (errno(error) !== 'ENOENT') throw error
  }
}

const writeEntry = async (port: FilePort, path: string, mode: number, content: Readable): Promise<number> => {
  await makeRoom(port, path)
  const fd = await openForWrite(port, path, O_WRONLY | O_CREAT | O_EXCL, mode)
  const sink = fileSink(fd)
  try {
    await pour(content, sink.write)
    await sink.finish()
  } catch (error) {
    await sink.settle()
    await port.unlink(path)
    throw error
  } finally {
    await closeFd(fd)
  }
  return sink.bytes
}

const copyEntry = async (port: FilePort, from: string, to: string): Promise<number> => {
  const source = await port.open(from, O_RDONLY | O_NOFOLLOW)
  try {
    const stat = await statFd(source)
    if (stat.kind !== 'file') throw refusal(to, 'links to what is no file')
    await makeRoom(port, to)
    const fd = await openForWrite(port, to, O_WRONLY | O_CREAT | O_EXCL, stat.mode & 0o777)
    try {
      await copyFd({ fd: source, at: 0 }, { fd, at: 0 }, stat.size)
    } finally {
      await closeFd(fd)
    }
    return stat.size
  } finally {
    dropFd(source)
  }
}

/** Unpacks one entry and answers its bytes; undefined for one that is passed over. */
const unpackEntry = async (
  port: FilePort,
  root: string,
  header: Header,
  content: Readable,
): Promise<number | undefined> => {
  const segments = segmentsOf(header.name)
  if (segments.length === 0) return undefined
  const path = await placeOf(port, root, header.name, segments)
  const mode = (header.mode ?? 0o644) & 0o777
  if (header.type === 'directory') {
    const there = await port.lstat(path).catch(() => undefined)
    if (there && there.kind !== 'directory') throw refusal(header.name, `${path} is a ${there.kind}, not a directory`)
    await port.mkdir(path, mode | 0o700)
    return 0
  }
  if (header.type === 'symlink') {
    await port.mkdir(posix.dirname(path), 0o755)
    await makeRoom(port, path)
    // A link may point anywhere, as it may when a process makes it; nothing of the archive is written through it.
    await port.symlink(header.linkname ?? '', path)
    return 0
  }
  if (header.type === 'link') {
    const target = segmentsOf(header.linkname ?? '')
    return copyEntry(port, await placeOf(port, root, header.linkname ?? '', target), path)
  }
  if (header.type === 'file' || header.type === 'contiguous-file') return writeEntry(port, path, mode, content)
  return undefined
}

const gzipMagic = (head: Buffer) => head[0] === 0x1f && head[1] === 0x8b

/** The first bytes of a stream, which stay in it. */
const headOf = (stream: PassThrough): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    stream.once('error', reject)
    stream.once('readable', () => {
      const head = (stream.read() as Buffer | null) ?? Buffer.alloc(0)
      if (head.length > 0) stream.unshift(head)
      resolve(head)
    })
  })

/** Feeds the body to the extractor, through gunzip when its first bytes say so. */
const feed = async (body: Readable, extractor: Extract): Promise<void> => {
  const gate = new PassThrough({ highWaterMark: 1024 * 1024 })
  const room = () => new Promise<void>(resolve => gate.once('drain', resolve).once('close', resolve))
  const pouring = pour(body, chunk => {
    if (gate.destroyed) throw new Error('the archive is not read any more')
    return gate.write(chunk) ? undefined : room()
  }).then(
    () => void gate.end(),
    error => void gate.destroy(error),
  )
  try {
    const zipped = gzipMagic(await headOf(gate))
    const source = zipped ? createGunzip({ chunkSize: 256 * 1024 }) : gate
    await new Promise<void>((resolve, reject) => {
      extractor.on('finish', resolve).on('error', reject)
      source.on('error', error => extractor.destroy(error)).pipe(extractor)
      if (source === gate) return
      gate.on('error', error => source.destroy(error))
      gate.pipe(source)
    })
  } finally {
    gate.destroy()
    await pouring
  }
}

/** Throws `invalid_argument` for what is no archive or wants out, system errors for the rest; what was unpacked stays. */
export const unpack = async (port: FilePort, root: string, body: Readable): Promise<Unpacked> => {
  await port.mkdir(root, 0o755)
  const extractor = extract()
  let entries = 0
  let bytes = 0
  let working: Promise<unknown> | undefined
  extractor.on('entry', (header, stream, next) => {
    const content = stream as unknown as Readable
    content.on('error', () => {
      // The extractor fails with the same error, and whoever reads the content hears it as well.
    })
    working = unpackEntry(port, root, header, content).then(
      size => {
        if (size !== undefined) {
          entries++
          bytes += size
        }
        content.resume()
        next()
      },
      error => next(error),
    )
  })
  try {
    await feed(body, extractor)
  } catch (error) {
    // The entry that was cut is cleaned up before the answer leaves.
    await working
    const ours = isError(error) || /^E[A-Z0-9]+$/.test(errno(error) ?? '')
    throw ours
      ? error
      : fail('invalid_argument', { field: 'body', reason: `is no tar archive: ${messageOf(error)}` }, error)
  }
  return { entries, bytes }
}

/** A zip that was uploaded, read by yauzl. It is never unpacked on this host: entries are streamed out of it. */
import type { Readable } from 'node:stream'
import yauzl, { type Entry, type ZipFile } from 'yauzl'
import { fail, isError, messageOf } from '../../../../shared/errors.ts'
import { entryChecks, refuseEntry, type ArchiveLimits, type EntryType } from './entry-checks.ts'

export interface ArchiveEntry {
  /** Plain: `app/main.py`. */
  readonly name: string
  readonly type: 'file' | 'directory' | 'link'
  readonly size: number
  /** Permission bits. */
  readonly mode: number
  /** Where a link points. */
  readonly target: string
}

export interface Archive {
  /** By their plain names, in the order of the archive; the root is not among them. */
  readonly entries: ReadonlyMap<string, ArchiveEntry>
  /** The bytes of a file. Fails with `unprocessable` when they are not what the archive says of them. */
  open(name: string): Promise<Readable>
  /** A small file as text, or undefined when there is no such file. Throws `unprocessable` when it is longer than `maxBytes`. */
  text(name: string, maxBytes?: number): Promise<string | undefined>
  close(): void
}

const unixSystems = [3, 19]
const types: Readonly<Record<number, EntryType>> = {
  0: 'file',
  0o100000: 'file',
  0o040000: 'directory',
  0o120000: 'link',
}
const longestTarget = 4_096
const longestText = 1024 * 1024
const executable = 0o755

/** The mode of an entry that was packed on a Unix, or 0. */
const modeOf = ({ versionMadeBy, externalFileAttributes }: Entry): number =>
  unixSystems.includes(versionMadeBy >> 8) ? externalFileAttributes >>> 16 : 0

/** A name that ends with a slash is a directory, whatever its mode says. */
const typeOf = (name: string, mode: number): EntryType => {
  const said = types[mode & 0o170000] ?? 'other'
  return name.endsWith('/') && said === 'file' ? 'directory' : said
}

const nameOf = ({ generalPurposeBitFlag, fileNameRaw, extraFields }: Entry): string =>
  yauzl.getFileNameLowLevel(generalPurposeBitFlag, fileNameRaw, extraFields, true)

/** An error of the zip reader as one about the archive, or about its entry `name`. Our own errors pass unchanged. */
const broken = (error: unknown, name?: string) => {
  if (isError(error)) return error
  const reason = messageOf(error)
  return name === undefined
    ? fail('unprocessable', { reason: `the archive is no zip that can be read: ${reason}` }, error)
    : refuseEntry(name, `cannot be read: ${reason}`)
}

const readAll = async (stream: Readable, name: string, maxBytes: number): Promise<Buffer> => {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of stream as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > maxBytes) throw refuseEntry(name, `is longer than ${maxBytes} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

const openEntry = async (zip: ZipFile, entry: Entry, name: string): Promise<Readable> => {
  if (entry.isEncrypted()) throw refuseEntry(name, 'is encrypted')
  try {
    return await zip.openReadStreamPromise(entry)
  } catch (error) {
    throw broken(error, name)
  }
}

const contentOf = async (zip: ZipFile, entry: Entry, name: string, maxBytes: number): Promise<Buffer> => {
  const stream = await openEntry(zip, entry, name)
  return readAll(stream, name, maxBytes).catch(error => {
    throw broken(error, name)
  })
}

interface Read {
  readonly entries: Map<string, ArchiveEntry>
  readonly raw: Map<string, Entry>
}

const readEntries = async (zip: ZipFile, limits: ArchiveLimits): Promise<Read> => {
  const { check } = entryChecks(limits)
  const entries = new Map<string, ArchiveEntry>()
  const raw = new Map<string, Entry>()
  for await (const entry of zip.eachEntry()) {
    const said = nameOf(entry)
    const mode = modeOf(entry)
    const type = typeOf(said, mode)
    const size = entry.uncompressedSize
    const target = type === 'link' ? (await contentOf(zip, entry, said, longestTarget)).toString('utf8') : ''
    const name = check({ name: said, type, size, target })
    if (name === '' || type === 'other' || type === 'hardlink') continue
    const bits = mode & 0o777 || (type === 'directory' ? executable : 0o644)
    entries.set(name, { name, type, size, mode: bits, target })
    raw.set(name, entry)
  }
  return { entries, raw }
}

/** Looks at every entry. Throws `unprocessable` naming the entry that is refused, or saying that it is no zip. */
export const openZip = async (path: string, limits: ArchiveLimits): Promise<Archive> => {
  const options = { lazyEntries: true, autoClose: false, decodeStrings: false, validateEntrySizes: true }
  const zip = await yauzl.openPromise(path, options).catch(error => {
    throw broken(error)
  })
  try {
    const { entries, raw } = await readEntries(zip, limits)
    const need = (name: string): Entry => {
      const entry = raw.get(name)
      if (entry) return entry
      throw fail('not_found', { kind: 'entry of the archive', name })
    }
    return {
      entries,
      open: async name => openEntry(zip, need(name), name),
      async text(name, maxBytes = longestText) {
        if (entries.get(name)?.type !== 'file') return undefined
        return (await contentOf(zip, need(name), name, maxBytes)).toString('utf8')
      },
      close: () => zip.close(),
    }
  } catch (error) {
    zip.close()
    throw broken(error)
  }
}

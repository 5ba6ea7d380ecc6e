/** Reads a tar archive as it arrives; each entry includes what its extended headers say. */
import { extract, type Extract } from 'tar-stream'
import { textOf } from '../../../../shared/utf8.ts'
import { createBytes } from './bytes.ts'
import { sparseOf, type Records, type Span } from './sparse.ts'

type EntryKind = 'file' | 'directory' | 'symlink' | 'link' | 'other'

export interface TarEntry {
  readonly name: string
  readonly kind: EntryKind
  readonly mode: number
  readonly uid: number
  readonly gid: number
  /** Bytes of the whole file, holes included. */
  readonly size: number
  /** Seconds since the epoch. */
  readonly mtime: number
  readonly linkname: string
  /** Where the pieces of content belong, in the order of the archive; a plain file has one. */
  readonly spans: readonly Span[]
  /** The next bytes of content, at most `limit`. Throws at an early end of the archive. */
  read(limit: number): Promise<Buffer>
}

/** Its types know only the options of a stream. */
const options: object = { filenameEncoding: 'latin1', allowUnknownFormat: true }

type Source = Extract extends AsyncIterable<infer Each> ? Each : never

const kinds: Readonly<Partial<Record<string, EntryKind>>> = {
  file: 'file',
  'contiguous-file': 'file',
  directory: 'directory',
  symlink: 'symlink',
  link: 'link',
  'character-device': 'other',
  'block-device': 'other',
  fifo: 'other',
}

const skipBytes = 64 * 1024

/** A number of the extended header, or else the plain one's. Throws when it is not a number. */
const numberOf = (records: Records, key: string, plain: number): number => {
  const text = records[key]
  const value = text === undefined ? plain : /^-?\d{1,16}(\.\d*)?$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isFinite(value)) throw new Error(`the ${key} of an entry is no number`)
  return value
}

/** Names are bytes; those of extended headers have been read as text already. */
const nameOf = (text: string | null, extended: string | undefined): string =>
  extended ? (text ?? '') : textOf(Buffer.from(text ?? '', 'latin1'))

const entryOf = async (entry: Source): Promise<{ read: TarEntry; rest: () => Promise<void> }> => {
  const { header } = entry
  // Before POSIX a directory was a file whose name ends in a slash.
  const kind = header.type === 'file' && header.name.endsWith('/') ? 'directory' : kinds[header.type]
  // Skipping it would lose a file silently.
  if (!kind) throw new Error('an entry is a sparse file of the old kind, a label or part of a volume')
  const records = (header.pax ?? {}) as Records
  const bytes = createBytes(entry[Symbol.asyncIterator]() as AsyncIterator<Buffer>)
  // Other kinds have no content, whatever their size field says.
  const stored = kind === 'file' ? header.size : 0
  const sparse = kind === 'file' ? await sparseOf(records, stored, bytes) : undefined
  const size = sparse?.size ?? stored
  const spans = sparse?.spans ?? [{ offset: 0, length: stored }]
  if (sparse && spans.reduce((sum, { length }) => sum + length, sparse.taken) > stored)
    throw new Error('a sparse file has less content than it says')
  if (spans.some(({ offset, length }) => offset + length > size))
    throw new Error('a sparse file is larger than it says')
  const read: TarEntry = {
    name: sparse?.name ?? nameOf(header.name, records['path']),
    kind,
    mode: header.mode,
    uid: numberOf(records, 'uid', header.uid),
    gid: numberOf(records, 'gid', header.gid),
    size,
    // A time that a Date cannot hold is no reason to refuse the file.
    mtime: numberOf(records, 'mtime', header.mtime.getTime() / 1000 || 0),
    linkname: nameOf(header.linkname, records['linkpath']),
    spans,
    async read(limit) {
      const piece = await bytes.some(limit)
      if (piece === undefined) throw new Error('unexpected end of data')
      return piece
    },
  }
  const rest = async () => {
    // The stream of a directory that claims to have a size would never end.
    if (kind !== 'directory') while ((await bytes.some(skipBytes)) !== undefined);
  }
  return { read, rest }
}

const feed = async (source: AsyncIterable<Buffer>, into: Extract): Promise<void> => {
  let wake = () => {}
  into.on('drain', () => wake()).on('close', () => wake())
  try {
    for await (const chunk of source) {
      if (into.destroyed) return
      const room = new Promise<void>(resolve => {
        wake = resolve
      })
      if (!into.write(chunk) && !into.destroyed) await room
    }
    into.end(undefined)
  } catch (error) {
    into.destroy(error as Error)
  }
}

/**
 * Yields the entries in order; content that was not read is skipped. Throws when it is no archive. After the end the
 * source is read no further.
 */
export async function* tarEntries(source: AsyncIterable<Buffer>): AsyncGenerator<TarEntry, void, void> {
  const extractor = extract(options)
  // The loop below throws it.
  extractor.on('error', () => {})
  const feeding = feed(source, extractor)
  try {
    for await (const entry of extractor) {
      const { read, rest } = await entryOf(entry)
      yield read
      await rest()
    }
  } finally {
    extractor.destroy(null)
    await feeding
  }
}

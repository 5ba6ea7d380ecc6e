/** Reads a tar archive as it comes: ustar, GNU and pax, and what is older. */
import { textOf } from '../../../shared/utf8.ts'
import { createBytes, type Bytes } from './bytes.ts'
import { blockBytes, decodeHeader, type Header } from './header.ts'
import { decodeRecords, overruled, type Records } from './pax.ts'
import { oldSparse, paxSparse, type Span } from './sparse.ts'

export type EntryKind = 'file' | 'directory' | 'symlink' | 'link' | 'other'

export interface TarEntry extends Omit<Header, 'type'> {
  /** `other`: devices, fifos, labels of volumes. */
  readonly kind: EntryKind
  /** Where the content belongs, in the order it comes; of a plain file one piece. `size` is that of the file. */
  readonly spans: readonly Span[]
  /** The next bytes of content, at most `limit`. Throws at an early end of the archive. */
  read(limit: number): Promise<Buffer>
}

const kinds: Readonly<Record<string, EntryKind>> = {
  '0': 'file',
  '7': 'file',
  S: 'file',
  '1': 'link',
  '2': 'symlink',
  '5': 'directory',
  D: 'directory',
}
/** No content follows these, whatever size they say. */
const bare = new Set(['1', '2', '3', '4', '5', '6'])
/** Names and extended headers are held in memory. Bytes. */
const longest = 4 * 1024 * 1024

const cut = () => new Error('unexpected end of data')

const paddingOf = (size: number) => (blockBytes - (size % blockBytes)) % blockBytes

/** The content of an entry that says something about the next one. */
const meta = async (bytes: Bytes, { size }: Header): Promise<Buffer> => {
  if (size < 0 || size > longest) throw new Error('a name or extended header is too long')
  const content = await bytes.take(size + paddingOf(size))
  if (content.length < size) throw cut()
  return content.subarray(0, size)
}

const nameOf = (bytes: Buffer): string => {
  const end = bytes.indexOf(0)
  return textOf(end < 0 ? bytes : bytes.subarray(0, end))
}

/** What entries said about the next one. */
interface Ahead {
  global: Records
  records: Records | undefined
  name: string | undefined
  linkname: string | undefined
}

const skip = async (bytes: Bytes, count: number): Promise<void> => {
  for (let left = count; left > 0; ) {
    const piece = await bytes.some(left)
    if (piece === undefined) throw cut()
    left -= piece.length
  }
}

/** True when the entry was about the next one, and noted. */
const noted = async (bytes: Bytes, header: Header, ahead: Ahead): Promise<boolean> => {
  const { type } = header
  if (type === 'L') ahead.name = nameOf(await meta(bytes, header))
  else if (type === 'K') ahead.linkname = nameOf(await meta(bytes, header))
  else if (type === 'g') ahead.global = decodeRecords(await meta(bytes, header), ahead.global)
  else if (type === 'x' || type === 'X') ahead.records = decodeRecords(await meta(bytes, header), ahead.global)
  else return false
  return true
}

const entryOf = async (
  bytes: Bytes,
  block: Buffer,
  own: Header,
  ahead: Ahead,
): Promise<{ entry: TarEntry; rest: () => Promise<void> }> => {
  const records = ahead.records ?? ahead.global
  const given = {
    ...own,
    name: ahead.name ?? own.name,
    linkname: ahead.linkname ?? own.linkname,
    size: bare.has(own.type) ? 0 : own.size,
  }
  const header = overruled(
    given,
    bare.has(own.type) ? new Map([...records].filter(([key]) => key !== 'size')) : records,
  )
  const { type, size: stored, ...described } = header
  if (stored < 0) throw new Error('a size in a header is out of range')
  if (type === 'M') throw new Error('an entry goes on from another volume')
  const sparse = type === 'S' ? await oldSparse(block, bytes) : await paxSparse(records, stored, bytes)
  const size = sparse?.size ?? stored
  const spans = sparse?.spans ?? [{ offset: 0, length: stored }]
  let left = stored - (sparse?.taken ?? 0)
  if (sparse && spans.reduce((sum, { length }) => sum + length, 0) > left) throw cut()
  if (spans.some(({ offset, length }) => offset + length > size))
    throw new Error('a sparse file is larger than it says')
  // Before POSIX a directory was a file whose name ends in a slash.
  const kind =
    type === '0' && header.name.endsWith('/')
      ? 'directory'
      : (kinds[type] ?? (/\d/.test(type) && !bare.has(type) ? 'file' : 'other'))
  const entry: TarEntry = {
    ...described,
    name: sparse?.name ?? header.name,
    size,
    kind,
    spans,
    async read(limit) {
      const piece = await bytes.some(Math.min(limit, left))
      if (piece === undefined) throw cut()
      left -= piece.length
      return piece
    },
  }
  return { entry, rest: () => skip(bytes, left + paddingOf(stored)) }
}

/** Every entry, one after the other; what of its content was not read is passed over. Throws for what is no archive. */
export async function* tarEntries(source: AsyncIterator<Buffer>): AsyncGenerator<TarEntry, void, void> {
  const bytes = createBytes(source)
  const ahead: Ahead = { global: new Map(), records: undefined, name: undefined, linkname: undefined }
  for (;;) {
    const block = await bytes.take(blockBytes)
    if (block.length === 0) return
    if (block.length < blockBytes) throw cut()
    // Two of them end an archive, and nothing but more of them or another archive may follow.
    if (block.every(byte => byte === 0)) continue
    const header = decodeHeader(block)
    if (await noted(bytes, header, ahead)) continue
    const { entry, rest } = await entryOf(bytes, block, header, ahead)
    ahead.records = ahead.name = ahead.linkname = undefined
    yield entry
    await rest()
  }
}

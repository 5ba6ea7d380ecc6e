/** Files with holes, as GNU tar and bsdtar write them: where in the file the bytes of the archive belong. */
import type { Bytes } from './bytes.ts'
import { blockBytes, numberAt } from './header.ts'
import { wholeOf, type Records } from './pax.ts'

/** Bytes that lie together. */
export interface Span {
  readonly offset: number
  readonly length: number
}

export interface Sparse {
  readonly spans: readonly Span[]
  /** Of the file with its holes, bytes. */
  readonly size: number
  /** Bytes of the entry that the list itself took. */
  readonly taken: number
  readonly name?: string | undefined
}

/** A file with more pieces is refused: the list is held in memory. */
const mostSpans = 256 * 1024

const tooMany = () => new Error(`a sparse file has more than ${mostSpans} pieces`)

const spansAt = (block: Buffer, at: number, count: number): Span[] => {
  const spans: Span[] = []
  for (let index = 0; index < count; index++) {
    const from = at + index * 24
    if (block[from + 12] === 0) break
    spans.push({ offset: numberAt(block, from, 12), length: numberAt(block, from + 12, 12) })
  }
  return spans
}

/** Type `S` of GNU tar: four pieces in the header, 21 in each block that follows. */
export const oldSparse = async (header: Buffer, bytes: Bytes): Promise<Sparse> => {
  const spans = spansAt(header, 386, 4)
  for (let more = header[482]; more; ) {
    const block = await bytes.take(blockBytes)
    if (block.length < blockBytes) throw new Error('unexpected end of data')
    spans.push(...spansAt(block, 0, 21))
    if (spans.length > mostSpans) throw tooMany()
    more = block[504]
  }
  return { spans, size: numberAt(header, 483, 12), taken: 0 }
}

const pairs = (numbers: readonly number[]): Span[] => {
  const spans: Span[] = []
  for (let index = 0; index + 1 < numbers.length; index += 2)
    spans.push({ offset: numbers[index] as number, length: numbers[index + 1] as number })
  return spans
}

/** Numbers before the content, one a line, the first their count, filled up to whole blocks. */
const listBefore = async (bytes: Bytes, size: number): Promise<{ spans: Span[]; taken: number }> => {
  const numbers: number[] = []
  let text = ''
  let taken = 0
  for (let wanted = 1; numbers.length < wanted; ) {
    if (taken + blockBytes > size) throw new Error('the list of a sparse file is cut')
    text += (await bytes.take(blockBytes)).toString('latin1')
    taken += blockBytes
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) {
      if (numbers.length === wanted) break
      if (!/^\d{1,15}$/.test(line)) throw new Error('the list of a sparse file is broken')
      numbers.push(Number(line))
      if (numbers.length === 1) wanted = 1 + 2 * Number(line)
      if (wanted > 1 + 2 * mostSpans) throw tooMany()
    }
    if (numbers.length < wanted && text.length > 15) throw new Error('the list of a sparse file is broken')
  }
  return { spans: pairs(numbers.slice(1)), taken }
}

/** What extended headers say about holes, formats 1.0 and 0.1; undefined for a file without. */
export const paxSparse = async (records: Records, size: number, bytes: Bytes): Promise<Sparse | undefined> => {
  const name = records.get('GNU.sparse.name')
  if (records.get('GNU.sparse.major') === '1')
    return { ...(await listBefore(bytes, size)), size: wholeOf(records, 'GNU.sparse.realsize') ?? 0, name }
  const map = records.get('GNU.sparse.map')
  const whole = wholeOf(records, 'GNU.sparse.size')
  if (whole === undefined) return undefined
  if (map === undefined) throw new Error('sparse files of format 0.0 are not read')
  if (map.length > mostSpans * 2 || !/^\d{1,15}(,\d{1,15})*$/.test(map)) throw tooMany()
  return { spans: pairs(map.split(',').map(Number)), size: whole, taken: 0, name }
}

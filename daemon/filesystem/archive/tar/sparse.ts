/** Files with holes, as bsdtar and `tar --format=pax` write them: where in the file the bytes of the archive belong. */
import type { Bytes } from './bytes.ts'

/** The records of an extended header (POSIX.1-2001). */
export type Records = Readonly<Record<string, string>>

const blockBytes = 512

/** Bytes that lie together. */
export interface Span {
  readonly offset: number
  readonly length: number
}

interface Sparse {
  readonly spans: readonly Span[]
  /** Of the file with its holes, bytes. */
  readonly size: number
  /** Bytes of the entry that the list itself took. */
  readonly taken: number
  readonly name?: string | undefined
}

/** A file with more pieces is refused: the list is held in memory. */
const maxSpans = 256 * 1024

const tooMany = () => new Error(`a sparse file has more than ${maxSpans} pieces`)

const pairs = (numbers: readonly number[]): Span[] => {
  const spans: Span[] = []
  for (let index = 0; index + 1 < numbers.length; index += 2)
    spans.push({ offset: numbers[index] as number, length: numbers[index + 1] as number })
  return spans
}

/**
 * The numbers that precede the content: one on each line, the first is how many pairs follow, padded to whole blocks.
 */
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
      if (wanted > 1 + 2 * maxSpans) throw tooMany()
    }
    if (numbers.length < wanted && text.length > 15) throw new Error('the list of a sparse file is broken')
  }
  return { spans: pairs(numbers.slice(1)), taken }
}

const wholeOf = (records: Records, key: string): number | undefined => {
  const text = records[key]
  if (text === undefined) return undefined
  if (!/^\d{1,15}$/.test(text)) throw new Error(`the ${key} of an entry is no number`)
  return Number(text)
}

/** Reads the map of holes, formats 1.0 and 0.1; undefined for a file without one. `size` is that of the entry. */
export const sparseOf = async (records: Records, size: number, bytes: Bytes): Promise<Sparse | undefined> => {
  const name = records['GNU.sparse.name']
  if (records['GNU.sparse.major'] === '1')
    return { ...(await listBefore(bytes, size)), size: wholeOf(records, 'GNU.sparse.realsize') ?? 0, name }
  const map = records['GNU.sparse.map']
  const whole = wholeOf(records, 'GNU.sparse.size')
  if (whole === undefined) return undefined
  if (map === undefined) throw new Error('sparse files of format 0.0 are not read')
  if (map.length > maxSpans * 2 || !/^\d{1,15}(,\d{1,15})*$/.test(map)) throw tooMany()
  return { spans: pairs(map.split(',').map(Number)), size: whole, taken: 0, name }
}

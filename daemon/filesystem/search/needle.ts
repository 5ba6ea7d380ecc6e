/** A text to search for, in the form that the addon searches. */
import { bytesOf } from '../../../shared/utf8.ts'
import type { Needle } from '../../native/search/search.ts'

/** What all ways to write a character have in common. Where changing its case makes two of it (`ß`), itself. */
const folded = (char: string): string => {
  const lower = char.toUpperCase().toLowerCase()
  return [...lower].length === 1 ? lower : char
}

/** Beyond it no character has two cases. */
const lastWithCase = 0x1ffff

/** Each character of the text in every way it can be written: found by trying all there are, a few milliseconds. */
const variantsOf = (query: string): Buffer => {
  const ways = new Map([...query].map(char => [folded(char), new Set([char])]))
  for (let code = 0; code <= lastWithCase; code++) {
    // Halves of surrogate pairs are no characters.
    if (code === 0xd800) code = 0xe000
    const char = String.fromCodePoint(code)
    ways.get(folded(char))?.add(char)
  }
  const pieces = [...query].flatMap(char => {
    const written = [...(ways.get(folded(char)) ?? [])].map(bytesOf)
    return [Buffer.of(written.length), ...written.flatMap(bytes => [Buffer.of(bytes.length), bytes])]
  })
  return Buffer.concat(pieces)
}

/** `query` is not empty. Without case, ASCII finds ASCII, and any other text every way to write its characters. */
export const needleOf = (query: string, caseSensitive: boolean): Needle => {
  if (caseSensitive) return { form: 'exact', bytes: bytesOf(query) }
  if (/^[\x00-\x7f]*$/.test(query)) return { form: 'folded', bytes: bytesOf(query.toLowerCase()) }
  return { form: 'variants', bytes: variantsOf(query) }
}

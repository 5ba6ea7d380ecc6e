/**
 * Bytes as text and back without loss. File names are bytes to Linux and need not be UTF-8: a byte that is part of no
 * UTF-8 sequence becomes the lone surrogate U+DC80…U+DCFF (PEP 383), which text that was UTF-8 never holds.
 */

/** Bytes of the UTF-8 sequence that begins at `at`, 0 when none does. */
const sequenceAt = (bytes: Uint8Array, at: number): number => {
  const first = bytes[at] as number
  if (first < 0x80) return 1
  const size = first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
  if (size === 0 || at + size > bytes.length) return 0
  // No overlong forms, no surrogates, nothing beyond U+10FFFF.
  const low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
  const high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
  const second = bytes[at + 1] as number
  if (second < low || second > high) return 0
  for (let index = 2; index < size; index++) if (((bytes[at + index] as number) & 0xc0) !== 0x80) return 0
  return size
}

/** The text of `bytes`; `bytesOf` gives the same bytes again. */
export const textOf = (bytes: Buffer): string => {
  const plain = bytes.toString('utf8')
  if (!plain.includes('\ufffd')) return plain
  const pieces: string[] = []
  let begun = 0
  for (let at = 0; at < bytes.length; ) {
    const size = sequenceAt(bytes, at)
    if (size === 0) {
      pieces.push(bytes.toString('utf8', begun, at), String.fromCharCode(0xdc00 + (bytes[at] as number)))
      begun = at + 1
    }
    at += size || 1
  }
  return pieces.join('') + bytes.toString('utf8', begun)
}

/** The bytes that `text` stands for; other lone surrogates become U+FFFD. */
export const bytesOf = (text: string): Buffer => {
  if (text.isWellFormed()) return Buffer.from(text)
  const pieces: Buffer[] = []
  let begun = 0
  for (const match of text.matchAll(/[\udc80-\udcff]/gu)) {
    pieces.push(Buffer.from(text.slice(begun, match.index)), Buffer.from([text.charCodeAt(match.index) - 0xdc00]))
    begun = match.index + 1
  }
  return Buffer.concat([...pieces, Buffer.from(text.slice(begun))])
}

/** A name as it is written in an address, whatever its bytes. */
export const escaped = (name: string): string =>
  name.isWellFormed()
    ? encodeURIComponent(name)
    : bytesOf(name)
        .toString('latin1')
        .replace(/[^\w.~-]/g, char => `%${char.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`)

/** `name` as plain text: bytes that are not UTF-8 as escapes, `caf%E9`. */
export const wellFormed = (name: string): string =>
  name.isWellFormed()
    ? name
    : name
        .replace(/[\udc80-\udcff]/gu, char => `%${(char.charCodeAt(0) - 0xdc00).toString(16).toUpperCase()}`)
        .toWellFormed()

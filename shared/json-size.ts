/** What a text takes of V8's heap as a part of JSON: many times as much as it is long, where it is no text. */
import { getHeapStatistics } from 'node:v8'

const [quote, backslash, space, beyondAscii] = [0x22, 0x5c, 0x20, 0x80]

/** A control character in front of a letter beyond ASCII. */
const mostPerByte = 12

/** Of the UTF-8 text; an upper bound: control characters are written in six, and beyond ASCII all of it may take two bytes for one. */
export const jsonBytes = (text: Uint8Array): number => {
  let length = text.length
  let wide = false
  for (let at = 0; at < text.length; at++) {
    const byte = text[at] as number
    if (byte < space) length += 5
    else if (byte === quote || byte === backslash) length++
    else if (byte >= beyondAscii) wide = true
  }
  return wide ? 2 * length : length
}

/** Of a text in memory; as `jsonBytes`. */
const quotedBytes = (text: string): number => {
  let length = text.length
  let wide = false
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit < space || (unit >= 0xd800 && unit <= 0xdfff)) length += 5
    else if (unit === quote || unit === backslash) length++
    if (unit > 0xff) wide = true
  }
  return wide ? 2 * length : length
}

/** Punctuation around a part of a value, or a number. */
const besides = 24

/** What a value takes as JSON: an upper bound, counted no further than `most`. */
export const valueBytes = (value: unknown, most: number): number => {
  if (typeof value === 'string') return besides + (value.length > most ? value.length : quotedBytes(value))
  if (typeof value !== 'object' || value === null) return besides
  let sum = besides
  const isList = Array.isArray(value)
  // One by one: a list of its entries could be larger than the value.
  for (const key in value) {
    if (sum > most) break
    sum += (isList ? 0 : quotedBytes(key)) + valueBytes((value as Record<string, unknown>)[key], most - sum)
  }
  return sum
}

/** What one answer may take: it is there twice before it is sent, and not alone. */
export const mostJsonBytes = (): number => Math.floor(getHeapStatistics().heap_size_limit / 3)

/** Whether a text may be a part of an answer of `most` bytes; a small one is not looked through. */
export const fitsJson = (text: Uint8Array, most: number = mostJsonBytes()): boolean =>
  text.length * mostPerByte <= most || jsonBytes(text) <= most

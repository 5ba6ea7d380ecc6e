import t from 'tap'
import { fitsJson, jsonBytes, mostJsonBytes } from '../../shared/json-size.ts'

/** Bytes of V8's heap for the quoted text: one for each character, or two where one of them is beyond Latin-1. */
const heapOf = (text: string): number => {
  const quoted = JSON.stringify(text).slice(1, -1)
  return [...quoted].some(one => (one.codePointAt(0) as number) > 255) ? 2 * quoted.length : quoted.length
}

t.test('what a text takes as JSON is never more than was counted', async t => {
  for (const text of ['', 'plain', '\0\n\t"\\', 'ä\0', '\u{1f600}\0\0', '\u20ac"'.repeat(50)])
    t.ok(jsonBytes(Buffer.from(text)) >= heapOf(text), JSON.stringify(text))
  t.equal(jsonBytes(Buffer.alloc(10)), 60)
})

t.test('a text that takes too much does not fit, a plain one of that length does', async t => {
  const [most, length] = [1e6, 2e5]
  t.equal(fitsJson(Buffer.alloc(length), most), false)
  t.equal(fitsJson(Buffer.alloc(length, 'a'), most), true)
  t.equal(fitsJson(Buffer.alloc(10)), true)
})

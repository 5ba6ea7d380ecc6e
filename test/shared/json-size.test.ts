import t from 'tap'
import { fitsJson, jsonBytes, valueBytes } from '../../shared/json-size.ts'

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

t.test('so it is with a value, which is counted no further than asked', async t => {
  const values = [
    null,
    -1.5e-300,
    ['\0', true, {}],
    { 'a"': '\ud800\u20ac', b: [[], [1, 2]] },
    { '\0\0\0\0\0\0': 0 },
    Array.from({ length: 50 }, (_, at) => at),
  ]
  for (const value of values)
    t.ok(valueBytes(value, 1e6) >= 2 * JSON.stringify(value).length - 24, JSON.stringify(value))
  const endless: object = {
    get again() {
      return endless
    },
  }
  t.ok(valueBytes(endless, 10_000) < 20_000)
  t.ok(valueBytes(['\0'.repeat(1_000), '\0'], 2_000) > 6_000)
})

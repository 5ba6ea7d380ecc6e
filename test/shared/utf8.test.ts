import t from 'tap'
import { jsonText } from '../../shared/route.ts'
import { bytesOf, escaped, textOf } from '../../shared/utf8.ts'

const hex = (bytes: string) => Buffer.from(bytes.replaceAll(' ', ''), 'hex')

t.test('what is UTF-8 is what it always was', async t => {
  for (const text of ['', 'plain', 'ü€😀', 'a\ufffdb', '\0']) {
    t.equal(textOf(Buffer.from(text)), text)
    t.same(bytesOf(text), Buffer.from(text))
  }
})

t.test('what is none comes back byte by byte', async t => {
  const cases: [string, string][] = [
    ['61ff', 'a\udcff'],
    ['e4 2e 74', '\udce4.t'],
    ['c3bc e4 e282ac', 'ü\udce4€'],
    ['ef bf bd ff', '\ufffd\udcff'],
    // Overlong forms, a surrogate, beyond the last code point, cut sequences, lone continuation bytes.
    ['c0af', '\udcc0\udcaf'],
    ['e080af', '\udce0\udc80\udcaf'],
    ['f0808080', '\udcf0\udc80\udc80\udc80'],
    ['eda080', '\udced\udca0\udc80'],
    ['f4908080', '\udcf4\udc90\udc80\udc80'],
    ['e282', '\udce2\udc82'],
    ['f09f98', '\udcf0\udc9f\udc98'],
    ['80bf', '\udc80\udcbf'],
  ]
  for (const [bytes, text] of cases) {
    t.equal(textOf(hex(bytes)), text, bytes)
    t.same(bytesOf(text), hex(bytes), `${bytes} and back`)
  }
  const every = Buffer.from(Array.from({ length: 65_536 }, (_, index) => [index >> 8, index & 0xff]).flat())
  t.same(bytesOf(textOf(every)), every, 'any two bytes')
})

t.test('a surrogate that stands for no byte is no byte', async t => {
  t.same(bytesOf('a\ud800b\udc00c\udc7f'), Buffer.from('a\ufffdb\ufffdc\ufffd'))
})

t.test('a name as an address wants it', async t => {
  t.equal(escaped('a b/ü'), 'a%20b%2F%C3%BC')
  t.equal(escaped('a b\udcff.txt'), 'a%20b%FF.txt')
})

t.test('JSON never holds half a character', async t => {
  t.equal(jsonText({ a: 'x\udcff', '\ud800': 1 }), '{"a":"x\ufffd","\ufffd":1}')
  const plain = { text: 'C:\\udcff \\\\udcff "ü😀" \u0001' }
  t.equal(jsonText(plain), JSON.stringify(plain), 'what only looks like one stays')
  t.equal(jsonText('\\\udcff'), '"\\\\\ufffd"')
  t.equal(jsonText(undefined), undefined)
})

import t from 'tap'
import { readAnswerHead } from '../../../../control/core/channel/answer-head.ts'

const read = (text: string, method = 'GET') => readAnswerHead(text, method)

t.test('where a body ends', async t => {
  t.same(read('HTTP/1.1 200 OK\r\nContent-Length: 5').framing, { bytes: 5 })
  t.same(read('HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked').framing, 'chunks')
  t.same(read('HTTP/1.1 200 OK').framing, 'close')
  t.same(read('HTTP/1.1 200 OK\r\nContent-Length: 5', 'HEAD').framing, 'none')
  t.same(read('HTTP/1.1 204 No\r\nContent-Length: 5').framing, 'none')
  t.same(read('HTTP/1.1 304 Not').framing, 'none')
  t.same(read('HTTP/1.1 103 Early').framing, 'none')
})

t.test('how long the connection may rest', async t => {
  const restOf = (fields: string, version = '1.1') =>
    read(`HTTP/${version} 200 OK\r\nContent-Length: 1${fields}`).restMs
  t.equal(restOf(''), 30_000)
  t.equal(restOf('\r\nKeep-Alive: timeout=5'), 4_000)
  t.equal(restOf('\r\nKeep-Alive: max=3, timeout=1'), 0)
  t.equal(restOf('\r\nConnection: close'), 0)
  t.equal(restOf('\r\nConnection: x, Close'), 0)
  t.equal(restOf('', '1.0'), 0)
  t.equal(read('HTTP/1.1 200 OK').restMs, 0)
})

t.test('names and values stay as they are, and a reason is made harmless', async t => {
  t.same(read('HTTP/1.1 200 caf\xe9 \x01\r\nX-A:  b c \r\nEmpty:').raw, ['X-A', 'b c', 'Empty', ''])
  t.equal(read('HTTP/1.1 200 caf\xe9 \x01').reason, 'caf\xe9 ?')
  t.equal(read('HTTP/1.1 200').reason, '')
})

t.test('two readers could not agree on these', async t => {
  const ok = 'HTTP/1.1 200 OK\r\n'
  const bad: Record<string, string> = {
    'another protocol': 'SSH-2.0',
    'a status of four digits': 'HTTP/1.1 2000 x',
    'a status below 100': 'HTTP/1.1 099 x',
    'an upgrade': 'HTTP/1.1 101 Switching',
    'two lengths that agree': `${ok}Content-Length: 1\r\nContent-Length: 1`,
    'a length and chunks': `${ok}Content-Length: 1\r\nTransfer-Encoding: chunked`,
    'a signed length': `${ok}Content-Length: -1`,
    'two encodings': `${ok}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked`,
    'another encoding': `${ok}Transfer-Encoding: gzip, chunked`,
    'chunks in HTTP/1.0': 'HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked',
    'a folded line': `${ok}A: b\r\n c`,
    'a line break alone': `${ok}A: b\nContent-Length: 1`,
    'a control character': `${ok}A: \x01`,
    'a space in a name': `${ok}A B: c`,
    'a space before the colon': `${ok}Content-Length : 1`,
  }
  for (const [what, text] of Object.entries(bad)) t.throws(() => read(text), /no HTTP/, what)
})

t.test('a line of nothing but spaces costs no more than its length', async t => {
  const began = performance.now()
  t.throws(() => read(`HTTP/1.1 200 OK\r\nA:${' '.repeat(60_000)}\x01`), /no field/)
  t.ok(performance.now() - began < 1_000)
})

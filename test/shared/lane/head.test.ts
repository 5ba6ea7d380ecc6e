import t from 'tap'
import { readHead } from '../../../shared/lane/head.ts'

const host = 'Host: x'

t.test('an ordinary head is read as it was sent', async t => {
  const head = readHead(
    `POST /a%20b?c=/d HTTP/1.1\r\n${host}\r\nX-One:  two words \r\nContent-Length: 12\r\nEmpty:`,
    undefined,
  )
  t.match(head, { method: 'POST', url: '/a%20b?c=/d' })
  t.same(head?.fields.raw, ['Host', 'x', 'X-One', 'two words', 'Content-Length', '12', 'Empty', ''])
  t.match(head?.fields, { length: 12, keepAlive: true, expects: false })
  t.equal(head?.fields.headers['x-one'], 'two words')
})

t.test('fields that are repeated on a connection are read once, and only when they are the same', async t => {
  const first = readHead(`GET /a HTTP/1.1\r\n${host}\r\nA: 1`, undefined)
  const second = readHead(`GET /b HTTP/1.1\r\n${host}\r\nA: 1`, first?.fields)
  t.equal(second?.fields, first?.fields)
  t.equal(second?.url, '/b')
  const third = readHead(`GET /b HTTP/1.1\r\n${host}\r\nA: 2`, first?.fields)
  t.equal(third?.fields.headers['a'], '2')
})

t.test('what is said of the connection', async t => {
  const fieldsOf = (line: string) => readHead(`GET / HTTP/1.1\r\n${host}\r\n${line}`, undefined)?.fields
  t.equal(fieldsOf('Connection: Close')?.keepAlive, false)
  t.equal(fieldsOf('Connection: keep-alive')?.keepAlive, true)
  t.equal(fieldsOf('Expect: 100-Continue')?.expects, true)
})

t.test('what is odd in any way is for another reader', async t => {
  const lines = (...fields: string[]) => ['GET / HTTP/1.1', host, ...fields].join('\r\n')
  const odd: Record<string, string> = {
    'another version': `GET / HTTP/1.0\r\n${host}`,
    'no version': `GET /\r\n${host}`,
    'an unknown method': `BREW / HTTP/1.1\r\n${host}`,
    'a method in small letters': `get / HTTP/1.1\r\n${host}`,
    'an absolute target': `GET http://x/ HTTP/1.1\r\n${host}`,
    'a fragment': `GET /a#b HTTP/1.1\r\n${host}`,
    'a space in the target': `GET /a b HTTP/1.1\r\n${host}`,
    'a byte beyond ASCII in the target': `GET /\xe9 HTTP/1.1\r\n${host}`,
    'two spaces': `GET  / HTTP/1.1\r\n${host}`,
    'no host': 'GET / HTTP/1.1\r\nA: b',
    'an empty host': 'GET / HTTP/1.1\r\nHost:',
    'no fields': 'GET / HTTP/1.1',
    'two hosts': lines('host: y'),
    'two lengths': lines('Content-Length: 1', 'Content-Length: 1'),
    'a signed length': lines('Content-Length: +1'),
    'a length in hexadecimal': lines('Content-Length: 0x1'),
    'no length': lines('Content-Length:'),
    'a list of lengths': lines('Content-Length: 1, 1'),
    'a length that no number holds': lines('Content-Length: 99999999999999999999'),
    'a body in pieces': lines('Transfer-Encoding: chunked'),
    'an encoding under a like name': lines('Transfer-Encoding : chunked'),
    'an upgrade': lines('Upgrade: websocket', 'Connection: Upgrade'),
    'a connection that names fields': lines('Connection: close, X'),
    'another expectation': lines('Expect: a miracle'),
    'a folded line': lines('A: b', ' c'),
    'a line break alone': lines('A: b\nTransfer-Encoding: chunked'),
    'a return alone': lines('A: b\rTransfer-Encoding: chunked'),
    'a null': lines('A: b\0c'),
    'a control character': lines('A: b\x01c'),
    'a delete character': lines('A: b\x7fc'),
    'a space in a name': lines('A B: c'),
    'no colon': lines('A'),
    'no name': lines(': b'),
    'a name that is sent twice': lines('A: b', 'a: c'),
    'more fields than anybody has': lines(...Array.from({ length: 300 }, (_, at) => `A${at}: b`)),
  }
  for (const [what, text] of Object.entries(odd)) t.equal(readHead(text, undefined), undefined, what)
  t.ok(readHead(lines('A: b'), undefined), 'and without it all is well')
})

t.test('a line of nothing but spaces costs no more than its length', async t => {
  const began = performance.now()
  t.equal(readHead(`GET / HTTP/1.1\r\n${host}\r\nA:${' '.repeat(60_000)}\x01`, undefined), undefined)
  t.ok(performance.now() - began < 1_000)
})

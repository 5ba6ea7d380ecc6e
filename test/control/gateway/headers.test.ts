import t from 'tap'
import { requestHeaders, responseHeaders } from '../../../control/gateway/headers.ts'

const pairs = (flat: string[]) =>
  flat.reduce<string[][]>((all, value, i) => (i % 2 ? (all.at(-1)?.push(value), all) : [...all, [value]]), [])

t.test('credentials are withheld, hop-by-hop headers stay behind, the rest goes on in order', async t => {
  const raw = [
    'Host',
    'h',
    'X-Svc-Authorization',
    'Bearer k',
    'Authorization',
    'Bearer app',
    'Connection',
    'keep-alive',
    'Transfer-Encoding',
    'chunked',
    'X-A',
    '1',
    'x-a',
    '2',
  ]
  t.same(pairs(requestHeaders(raw, { withheld: new Set(['x-svc-authorization']), remote: '1.2.3.4', host: 'h' })), [
    ['host', 'h'],
    ['authorization', 'Bearer app'],
    ['x-a', '1'],
    ['x-a', '2'],
    ['x-forwarded-for', '1.2.3.4'],
    ['x-forwarded-host', 'h'],
  ])
})

t.test('an upgrade keeps what the handshake needs; a forwarded-for chain grows', async t => {
  const raw = ['Connection', 'Upgrade', 'Upgrade', 'websocket', 'X-Forwarded-For', '9.9.9.9', 'Sec-WebSocket-Key', 'x']
  t.same(pairs(requestHeaders(raw, { withheld: new Set(), remote: '1.2.3.4', host: 'h', keepUpgrade: true })), [
    ['connection', 'Upgrade'],
    ['upgrade', 'websocket'],
    ['sec-websocket-key', 'x'],
    ['x-forwarded-for', '9.9.9.9, 1.2.3.4'],
    ['x-forwarded-host', 'h'],
  ])
})

t.test('an answer keeps its own headers', async t => {
  const raw = ['Content-Type', 'text/plain', 'Connection', 'close', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2'].map(v =>
    Buffer.from(v),
  )
  t.same(responseHeaders(raw), ['Content-Type', 'text/plain', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2'])
})

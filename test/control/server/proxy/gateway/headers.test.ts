import t from 'tap'
import {
  identityHeaders,
  identityWriter,
  requestIdHeader,
} from '../../../../../control/server/proxy/gateway/identity.ts'
import { requestHeaders, responseHeaders } from '../../../../../control/server/proxy/gateway/headers.ts'
import { parseWireNames, wireNames } from '../../../../../shared/wire-names.ts'

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
  const options = {
    withheld: { headers: new Set(['x-svc-authorization']), cookies: false },
    identity: [],
    remote: '1.2.3.4',
    host: 'h',
    isSecure: false,
  }
  t.same(pairs(requestHeaders(raw, options)), [
    ['host', 'h'],
    ['authorization', 'Bearer app'],
    ['x-a', '1'],
    ['x-a', '2'],
    ['x-forwarded-for', '1.2.3.4'],
    ['x-forwarded-host', 'h'],
    ['x-forwarded-proto', 'http'],
  ])
})

t.test('an upgrade keeps what the handshake needs; a forwarded-for chain grows', async t => {
  const raw = [
    'Connection',
    'Upgrade',
    'Upgrade',
    'websocket',
    'X-Forwarded-For',
    '9.9.9.9',
    'X-Forwarded-Proto',
    'ftp',
    'Sec-WebSocket-Key',
    'x',
  ]
  const options = {
    withheld: { headers: new Set<string>(), cookies: false },
    identity: [],
    remote: '1.2.3.4',
    host: 'h',
    isSecure: true,
    keepUpgrade: true,
  }
  t.same(pairs(requestHeaders(raw, options)), [
    ['connection', 'Upgrade'],
    ['upgrade', 'websocket'],
    ['sec-websocket-key', 'x'],
    ['x-forwarded-for', '9.9.9.9, 1.2.3.4'],
    ['x-forwarded-host', 'h'],
    ['x-forwarded-proto', 'https'],
  ])
})

t.test('what only the gateway may say is taken away in every spelling, and said', async t => {
  const names = wireNames(parseWireNames('Svc,Acme', 'x'))
  const sent = [
    'X-Svc-Subject-Id',
    'x_svc_subject_id',
    'X-ACME-Auth-Method',
    'X-Subject-Type',
    'X_Request-Id',
    'X-Kept',
  ]
  const raw = [...sent.flatMap(name => [name, 'me']), 'Connection', 'x-svc-subject-id']
  const identity = [...identityWriter(names)({ id: 'key-1', owner: null }), requestIdHeader, 'r-1']
  const withheld = { headers: new Set(identityHeaders(names)), cookies: false }
  const options = { withheld, identity, remote: '1.2.3.4', host: 'h', isSecure: false }
  t.same(pairs(requestHeaders(raw, options)), [
    ['x-kept', 'me'],
    ['x-svc-subject-id', 'key-1'],
    ['x-acme-subject-id', 'key-1'],
    ['x-svc-subject-type', 'user'],
    ['x-acme-subject-type', 'user'],
    ['x-svc-auth-method', 'api_key'],
    ['x-acme-auth-method', 'api_key'],
    ['x-request-id', 'r-1'],
    ['x-forwarded-for', '1.2.3.4'],
    ['x-forwarded-host', 'h'],
    ['x-forwarded-proto', 'http'],
  ])
})

t.test('a key of a service account speaks for it', async t => {
  const write = identityWriter(wireNames(parseWireNames(undefined, 'x')))
  t.same(write({ id: 'key-1', owner: 'sa-1' }).slice(0, 4), [
    'x-svc-subject-id',
    'sa-1',
    'x-svc-subject-type',
    'service_account',
  ])
})

t.test('an answer keeps its own headers', async t => {
  const raw = ['Content-Type', 'text/plain', 'Connection', 'close', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2'].map(v =>
    Buffer.from(v),
  )
  const rules = { base: '', ours: ['x-svc-'], shared: false, cookies: false }
  t.same(responseHeaders(raw, rules), ['Content-Type', 'text/plain', 'Set-Cookie', 'a=1', 'Set-Cookie', 'b=2'])
  const worker = ['Service-Worker-Allowed', '/'].map(v => Buffer.from(v))
  t.same(responseHeaders(worker, { ...rules, base: '/port/3000' }), [], 'no page takes over what is beside it')
  t.same(responseHeaders(worker, rules), ['Service-Worker-Allowed', '/'])
  const said = ['X-Svc-Source', 'platform', 'X-Svc-Request-Id', '1', 'X-Svc-Cursor', '7'].map(v => Buffer.from(v))
  t.same(responseHeaders(said, rules), ['X-Svc-Cursor', '7'], 'what only the gateway says is not passed on')
})

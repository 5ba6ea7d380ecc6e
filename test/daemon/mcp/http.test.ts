/** What HTTP lets in to /mcp, and how it says no: as JSON-RPC, and as the document says. */
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { handshakeRevisions } from '../../../shared/mcp/revisions.ts'
import { daemonServer } from '../../support/daemon.ts'

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
const limit = 4 * 1024 * 1024

type Headers = Record<string, string | undefined>

/** A daemon behind a socket, asked as no client library would. */
const served = async (t: Test) => {
  const { port, call } = await daemonServer(t)
  const ask = async (method: string, body: unknown, more: Headers = {}) => {
    const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...more }
    const headers = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
    const sent = request({ host: '127.0.0.1', port, method, path: '/mcp', headers, agent: false })
    sent.end(body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body))
    const [message] = (await once(sent, 'response')) as [IncomingMessage]
    const answer = await text(message)
    const type = message.headers['content-type'] ?? ''
    return {
      status: message.statusCode ?? 0,
      headers: message.headers,
      type,
      // oxlint-disable-next-line typescript/no-explicit-any
      body: type.startsWith('application/json') && answer !== '' ? (JSON.parse(answer) as any) : answer,
    }
  }
  return { ask, call, post: (body: unknown, more: Headers = {}) => ask('POST', body, more) }
}

t.test('no session and no handshake are needed, none is given', async t => {
  const { post } = await served(t)
  const pong = await post(ping)
  t.match(pong, { status: 200, type: 'application/json', body: { jsonrpc: '2.0', id: 1, result: {} } })
  t.equal(pong.headers['mcp-session-id'], undefined)
  t.equal(pong.headers['cache-control'], 'no-cache, no-transform')
  t.equal(pong.headers['access-control-allow-origin'], '*')
  for (const version of handshakeRevisions)
    t.match(await post(ping, { 'mcp-protocol-version': version }), { status: 200, body: { result: {} } }, version)
  t.equal((await post(ping, { 'mcp-session-id': 'anything' })).status, 200)
  t.equal((await post(ping, { accept: '*/*' })).status, 200)
  t.equal((await post(ping, { accept: 'application/*;q=0.9, text/*' })).status, 200)
  t.equal((await post(ping, { 'content-type': 'Application/JSON; charset=utf-8' })).status, 200)
  t.match(await post({ ...ping, method: 'logging/setLevel', params: { level: 'debug' } }), { body: { result: {} } })
  t.match(await post({ ...ping, method: 'no/such' }), { status: 200, body: { id: 1, error: { code: -32601 } } })
  t.match(await post({ ...ping, method: 'tools/list', params: { cursor: 'x' } }), { body: { error: { code: -32602 } } })
})

t.test('a call that asks for a task is run as any other: none are offered', async t => {
  const { post } = await served(t)
  const params = { name: 'fsGetWorkingDirectory', arguments: {}, task: { ttl: 60_000 } }
  t.match(await post({ ...ping, method: 'tools/call', params }), {
    status: 200,
    body: { result: { structuredContent: { path: String } } },
  })
  t.match(await post({ ...ping, method: 'tasks/list' }), { body: { error: { code: -32601 } } })
})

t.test('parameters of the wrong shape are named', async t => {
  const { post } = await served(t)
  const client = { capabilities: {}, clientInfo: { name: 't', version: '1' } }
  for (const [method, params, named] of [
    ['initialize', client, /params\.protocolVersion/],
    ['initialize', undefined, /params/],
    ['logging/setLevel', { level: 'loud' }, /params\.level/],
    ['tools/list', { cursor: 7 }, /params\.cursor/],
    ['tools/call', { name: 7 }, /params\.name/],
    ['tools/call', { name: 'fsReadFile', arguments: [] }, /params\.arguments/],
  ] as const)
    t.match(
      await post({ ...ping, method, params }),
      { status: 200, body: { id: 1, error: { code: -32602, message: named } } },
      `${method} ${JSON.stringify(params)}`,
    )
})

t.test('initialize echoes a version it knows, else the newest of its kind', async t => {
  const { post } = await served(t)
  const initialize = async (protocolVersion: string) => {
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } }
    return (await post({ ...ping, method: 'initialize', params })).body.result
  }
  for (const version of handshakeRevisions) t.equal((await initialize(version)).protocolVersion, version)
  for (const version of ['2024-10-07', '2001-01-01', '2026-07-28', '2099-01-01', ''])
    t.equal((await initialize(version)).protocolVersion, '2025-11-25', version)
  t.same(await initialize('2025-11-25'), {
    protocolVersion: '2025-11-25',
    capabilities: { logging: {}, tools: { listChanged: true } },
    serverInfo: { name: 'Sandbox API Server', version: '1.0.0' },
  })
})

t.test('what is told is taken, and ends nothing of anybody else', async t => {
  const { post } = await served(t)
  const tell = (method: string, params: object = {}) => post({ jsonrpc: '2.0', method, params })
  t.match(await tell('notifications/initialized'), { status: 202, body: '' })
  t.match(await post({ jsonrpc: '2.0', id: 4, result: {} }), { status: 202, body: '' })
  const command = 'sleep 0.5; echo whole'
  const params = { name: 'processExecute', arguments: { command, waitForCompletion: true } }
  const call = post({ ...ping, id: 1, method: 'tools/call', params })
  let answered = false
  void call.finally(() => (answered = true))
  // Inside, requests have numbers of their own: none of these may end the call.
  const statuses = new Set<number>()
  while (!answered)
    for (let id = 0; id < 5 && !answered; id++)
      statuses.add((await tell('notifications/cancelled', { requestId: id })).status)
  t.same([...statuses], [202])
  t.match((await call).body.result.structuredContent, { logs: 'whole\n' })
})

t.test('a refusal is a JSON-RPC error with the status that the document names', async t => {
  const { ask, post, call } = await served(t)
  const { responses } = (await call('GET', '/swagger/openapi.json')).body.paths['/mcp'].post
  const refused = async (name: string, answer: ReturnType<typeof post>, status: number, code: number) => {
    const { type, body, ...rest } = await answer
    t.equal(rest.status, status, name)
    t.equal(type, 'application/json', name)
    t.match(body, { jsonrpc: '2.0', error: { code, message: /\S/ } }, name)
    t.ok('id' in body, `${name}: an id, or null`)
    t.match(responses[status]?.content?.['application/json'].schema.required, ['jsonrpc', 'id', 'error'], name)
    return body
  }
  const deep = `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`
  await refused('another type', post(ping, { 'content-type': 'text/plain' }), 415, -32000)
  await refused('no type', post(ping, { 'content-type': undefined }), 415, -32000)
  await refused('a form', post('a=b', { 'content-type': 'application/x-www-form-urlencoded' }), 415, -32000)
  await refused('no streams', post(ping, { accept: 'application/json' }), 400, -32000)
  await refused('no JSON', post(ping, { accept: 'text/event-stream' }), 400, -32000)
  await refused('no accept', post(ping, { accept: undefined }), 400, -32000)
  await refused('a resumption', post(ping, { 'last-event-id': '1' }), 400, -32000)
  await refused('nothing', post(''), 400, -32700)
  await refused('half a message', post('{"jsonrpc":'), 400, -32700)
  await refused('not UTF-8', post(Buffer.from([0x22, 0xff, 0x22])), 400, -32700)
  await refused('a number', post('7'), 400, -32600)
  await refused('nothing known', post({ hello: 'world' }), 400, -32600)
  await refused('depth', post(deep), 400, -32600)
  await refused('a version that is none', post(ping, { 'mcp-protocol-version': 'x' }), 400, -32022)
  await refused('no such method', post(modern('ping'), modernHeaders('ping')), 404, -32601)
  await refused('too much', post(`"${'x'.repeat(limit)}"`), 413, -32000)
  const body = await refused('an id that can be read', post({ ...ping, id: 'mine', more: 1 }), 400, -32600)
  t.equal(body.id, 'mine')
  t.match((await post({ ...ping, params: { text: 'x'.repeat(limit - 100) } })).status, 200, 'as much as is allowed')
  const got = await ask('GET', undefined)
  t.match(got, { status: 405, body: { error: /POST/ } })
  t.equal((await ask('DELETE', undefined)).status, 404)
  t.equal((await ask('PUT', ping)).status, 404)
  t.equal((await ask('HEAD', undefined)).status, 404)
  t.equal((await ask('OPTIONS', undefined)).status, 204)
})

const modern = (method: string) => ({
  ...ping,
  method,
  params: {
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
})

const modernHeaders = (method: string): Headers => ({ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method })

t.test('batches belong to older revisions', async t => {
  const { post } = await served(t)
  const two = [ping, { ...ping, id: 'two' }]
  const both = [
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: 'two', result: {} },
  ]
  for (const version of [undefined, '2024-11-05', '2025-03-26'])
    t.same((await post(two, { 'mcp-protocol-version': version })).body, both, version ?? 'none')
  for (const version of ['2025-06-18', '2025-11-25', '2026-07-28'])
    t.match(
      await post(two, { 'mcp-protocol-version': version }),
      { status: 400, body: { error: { code: -32600, message: /batches/ } } },
      version,
    )
  t.match(await post([ping]), { status: 200, body: { id: 1, result: {} } }, 'one answer is no list')
  const told = { jsonrpc: '2.0', method: 'notifications/initialized' }
  t.match(await post([told, told]), { status: 202, body: '' })
  t.match(await post([told, ping]), { status: 200, body: { id: 1 } })
  t.equal((await post(Array.from({ length: 100 }, (_, id) => ({ ...ping, id })))).body.length, 100)
  for (const wrong of [[], [ping, 1], [null], [[ping]], [modern('tools/list')], Array(101).fill(ping)])
    t.match(await post(wrong), { status: 400, body: { id: null, error: { code: -32600 } } })
})

t.test('on loopback a web page is not let in, whatever its name resolves to', async t => {
  const { post } = await served(t)
  for (const host of [
    'evil.example',
    'evil.example:80',
    '127.0.0.1.evil.example',
    '10.0.0.1',
    'localhost.evil.example',
  ])
    t.match(await post(ping, { host }), { status: 403, body: { error: { message: /Host/ } } }, host)
  for (const origin of ['http://evil.example', 'https://localhost.evil.example', 'null', 'file://', 'nonsense'])
    t.match(await post(ping, { origin }), { status: 403, body: { error: { message: /Origin/ } } }, origin)
  for (const host of ['localhost', 'LocalHost:80', '127.0.0.1', '127.1.2.3:9', '[::1]:80'])
    t.equal((await post(ping, { host })).status, 200, host)
  for (const origin of ['http://localhost:6274', 'https://127.0.0.1', 'http://[::1]:3000'])
    t.equal((await post(ping, { origin })).status, 200, origin)
})

t.test('who comes from elsewhere has shown a key to the gateway, and may be a page of any origin', async t => {
  const { call } = await served(t)
  const headers = {
    'content-type': 'application/json',
    accept: '*/*',
    host: 'sbx-web-main.local.example',
    origin: 'https://app.example',
  }
  // In process, as over any address but loopback.
  t.equal((await call('POST', '/mcp', { headers, body: ping })).status, 200)
})

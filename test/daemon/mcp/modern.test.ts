/** Revision 2026-07-28 on the wire; what the SDK's own server of that revision answers is the measure. */
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import t, { type Test } from 'tap'
import { daemon } from '../../support/daemon.ts'

const version = 'io.modelcontextprotocol/protocolVersion'
const capabilities = 'io.modelcontextprotocol/clientCapabilities'
const clientInfo = 'io.modelcontextprotocol/clientInfo'
const serverInfo = { name: 'Sandbox API Server', version: '1.0.0' }
const current = '2026-07-28'
const envelope = { [version]: current, [capabilities]: {}, [clientInfo]: { name: 'test', version: '1' } }

interface Sent {
  readonly body: unknown
  /** Undefined leaves a header out. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

interface Answered {
  readonly status: number
  readonly type: string
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

type Ask = (sent: Sent) => Promise<Answered>

/** A request as a client of this revision sends it. */
const request = (method: string, params: object = {}, meta: object = envelope): Sent & { body: object } => {
  const name = (params as { name?: string }).name
  return {
    body: { jsonrpc: '2.0', id: 7, method, params: { ...params, _meta: meta } },
    headers: { 'mcp-method': method, ...(typeof name === 'string' ? { 'mcp-name': name } : {}) },
  }
}

const call = (name: unknown, args?: unknown) =>
  request('tools/call', { name, ...(args === undefined ? {} : { arguments: args }) })

const headersOf = ({ headers = {} }: Sent): Record<string, string> => {
  const all = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': current,
    ...headers,
  }
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

const textOf = ({ body }: Sent): string => (typeof body === 'string' ? body : JSON.stringify(body))

const answered = (status: number, type: string, text: string): Answered => ({
  status,
  type: type.split(';')[0] as string,
  text,
  body: type.startsWith('application/json') && text !== '' ? JSON.parse(text) : undefined,
})

const ours = async (t: Test): Promise<Ask> => {
  const made = await daemon(t)
  return async sent => {
    const { status, headers, text } = await made.call('POST', '/mcp', { headers: headersOf(sent), body: textOf(sent) })
    return answered(status, headers['content-type'] ?? '', text)
  }
}

/** The SDK's server, with what ours says of itself and a tool of the same name. */
const theirs = (t: Test): Ask => {
  const hint = { ttlMs: 300_000, cacheScope: 'private' } as const
  const handler = createMcpHandler(() => {
    const server = new Server(serverInfo, {
      capabilities: { tools: {} },
      cacheHints: { 'server/discover': hint, 'tools/list': hint },
    })
    server.setRequestHandler('tools/list', () => ({ tools: [] }))
    server.setRequestHandler('tools/call', () => ({ content: [{ type: 'text', text: 'called' }] }))
    return server
  })
  t.teardown(() => handler.close())
  return async sent => {
    const init = { method: 'POST', headers: headersOf(sent), body: textOf(sent) }
    const response = await handler.fetch(new Request('http://localhost/mcp', init))
    return answered(response.status, response.headers.get('content-type') ?? '', await response.text())
  }
}

const without = (key: string) => Object.fromEntries(Object.entries(envelope).filter(([name]) => name !== key))
const list = request('tools/list')
const cwd = call('fsGetWorkingDirectory')
const coded = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`
const notification = (params: object = {}) => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params })

/** Everything in which a request can differ from what it should be. */
const cases: Readonly<Record<string, Sent>> = {
  'a list': list,
  'a call': cwd,
  discover: request('server/discover'),
  'an envelope without the client': request('tools/list', {}, without(clientInfo)),
  'an envelope with more in it': request('tools/list', {}, { ...envelope, progressToken: 3, traceparent: 'x' }),
  'a subscription': request('subscriptions/listen', { notifications: { toolsListChanged: true } }),
  'a subscription to nothing': request('subscriptions/listen'),
  // Methods
  'an unknown method': request('no/such'),
  'a method of older revisions': request('ping'),
  'another one': request('logging/setLevel', { level: 'debug' }),
  'a handshake in this revision': request('initialize', { protocolVersion: current }),
  'a capability that is not offered': request('resources/list'),
  'a prompt that is not there': request('prompts/get', { name: 'x' }),
  // Envelopes
  'no envelope': { ...list, body: { jsonrpc: '2.0', id: 7, method: 'tools/list' } },
  'an empty envelope': request('tools/list', {}, {}),
  'an envelope without version': request('tools/list', {}, without(version)),
  'an envelope without capabilities': request('tools/list', {}, without(capabilities)),
  'capabilities that are a list': request('tools/list', {}, { ...envelope, [capabilities]: [] }),
  'a version that is a number': request('tools/list', {}, { ...envelope, [version]: 1 }),
  'a client without a name': request('tools/list', {}, { ...envelope, [clientInfo]: {} }),
  'a level that is none': request('tools/list', {}, { ...envelope, 'io.modelcontextprotocol/logLevel': 'loud' }),
  'an envelope that is a text': {
    ...list,
    body: { jsonrpc: '2.0', id: 7, method: 'tools/list', params: { _meta: 'x' } },
  },
  'a progress token that is a list': request('tools/list', {}, { ...envelope, progressToken: [] }),
  // Versions
  'a later version': {
    body: request('tools/list', {}, { ...envelope, [version]: '2099-01-01' }).body,
    headers: { 'mcp-protocol-version': '2099-01-01', 'mcp-method': 'tools/list' },
  },
  'an older version in the envelope': {
    body: request('tools/list', {}, { ...envelope, [version]: '2025-11-25' }).body,
    headers: { 'mcp-protocol-version': '2025-11-25', 'mcp-method': 'tools/list' },
  },
  'no version that ever was': {
    body: request('tools/list', {}, { ...envelope, [version]: '' }).body,
    headers: { 'mcp-protocol-version': undefined, 'mcp-method': 'tools/list' },
  },
  // Headers
  'no version header': { ...list, headers: { ...list.headers, 'mcp-protocol-version': undefined } },
  'another version header': { ...list, headers: { ...list.headers, 'mcp-protocol-version': '2025-11-25' } },
  'spaces around the version': { ...list, headers: { ...list.headers, 'mcp-protocol-version': ` ${current} ` } },
  'no method header': { ...list, headers: { 'mcp-method': undefined } },
  'another method header': { ...list, headers: { 'mcp-method': 'tools/call' } },
  'a method header in capitals': { ...list, headers: { 'mcp-method': 'TOOLS/LIST' } },
  'no name header': { ...cwd, headers: { 'mcp-method': 'tools/call' } },
  'another name header': { ...cwd, headers: { ...cwd.headers, 'mcp-name': 'fsReadFile' } },
  'an encoded name header': { ...cwd, headers: { ...cwd.headers, 'mcp-name': coded('fsGetWorkingDirectory') } },
  'another encoded name header': { ...cwd, headers: { ...cwd.headers, 'mcp-name': coded('fsReadFile') } },
  'a name header that is not Base64': { ...cwd, headers: { ...cwd.headers, 'mcp-name': '=?base64?!?=' } },
  'a name header that is not UTF-8': { ...cwd, headers: { ...cwd.headers, 'mcp-name': '=?base64?/w==?=' } },
  'a name header that nobody asked for': { ...list, headers: { ...list.headers, 'mcp-name': 'x' } },
  'a handshake with this header': {
    body: { jsonrpc: '2.0', id: 7, method: 'initialize', params: { protocolVersion: '2025-11-25' } },
    headers: { 'mcp-method': 'initialize' },
  },
  // Arguments of the protocol's own methods
  'a call without a name': call(undefined),
  'a call by number': call(7),
  'arguments that are a list': call('fsGetWorkingDirectory', []),
  'arguments that are a text': call('fsGetWorkingDirectory', 'x'),
  // Bodies
  'a batch': { ...list, body: [list.body] },
  'an empty batch': { ...list, body: [] },
  'a batch of nonsense': { ...list, body: [1] },
  'a text': { ...list, body: '"text"' },
  'not JSON': { ...list, body: '{' },
  'no JSON-RPC': { ...list, body: { hello: 'world' } },
  'another JSON-RPC': { ...list, body: { ...list.body, jsonrpc: '1.0' } },
  'no id but null': { ...list, body: { ...list.body, id: null } },
  'an id with a fraction': { ...list, body: { ...list.body, id: 1.5 } },
  'a member too many': { ...list, body: { ...list.body, more: 1 } },
  'params that are a list': { ...list, body: { ...list.body, params: [] } },
  'another content type': { ...list, headers: { ...list.headers, 'content-type': 'text/plain' } },
  'a handshake that says nothing of itself': {
    body: request('initialize', {}, { ...envelope, [capabilities]: null }).body,
    headers: { 'mcp-method': 'initialize' },
  },
  'a subscription by a text': request('subscriptions/listen', { notifications: 'all' }),
  'a subscription to a text': request('subscriptions/listen', { notifications: { resourceSubscriptions: 'x' } }),
  'an answer': { body: { jsonrpc: '2.0', id: 7, result: {} }, headers: { 'mcp-protocol-version': undefined } },
  'an answer with more in it': { body: { jsonrpc: '2.0', id: 7, result: {}, params: {} } },
  'an answer without an id': { body: { jsonrpc: '2.0', result: {} } },
  'a failure': {
    body: { jsonrpc: '2.0', id: 7, error: { code: 1, message: 'x' } },
    headers: { 'mcp-protocol-version': undefined },
  },
  'a failure without a message': { body: { jsonrpc: '2.0', id: 7, error: { code: 1 } } },
  // What nobody waits for
  'a handshake that nobody waits for': { body: { jsonrpc: '2.0', method: 'initialize' } },
  'a notification': { body: notification({ _meta: envelope }), headers: { 'mcp-method': 'notifications/cancelled' } },
  'a notification told by its header': { body: notification() },
  'a notification with another method': { body: notification(), headers: { 'mcp-method': 'tools/list' } },
  'a notification of another version': {
    body: notification({ _meta: { ...envelope, [version]: '2099-01-01' } }),
    headers: { 'mcp-protocol-version': '2099-01-01' },
  },
  'a notification with a version that is none': { body: notification({ _meta: { [version]: 1 } }) },
}

t.test("every request has the status, the code and the id that the SDK's server gives it", async t => {
  const [our, their] = [await ours(t), theirs(t)]
  const essence = ({ status, type, body }: Answered) => ({
    status,
    type,
    code: body?.error?.code,
    id: body?.id,
    resultType: body?.result?.resultType,
    supported: body?.error?.data?.supported,
  })
  for (const [name, sent] of Object.entries(cases)) t.same(essence(await our(sent)), essence(await their(sent)), name)
})

t.test('discovery, the list and the end of a subscription are the same to the letter', async t => {
  const [our, their] = [await ours(t), theirs(t)]
  const discover = cases['discover'] as Sent
  t.same((await our(discover)).body, (await their(discover)).body)
  t.match((await our(discover)).body.result, { supportedVersions: [current], capabilities: { tools: {} } })
  const { tools, ...rest } = (await our(list)).body.result
  const { tools: none, ...their2 } = (await their(list)).body.result
  t.same([rest, none], [their2, []])
  t.equal(tools.length, 19)
  const listen = cases['a subscription'] as Sent
  t.equal((await our(listen)).text, (await their(listen)).text)
})

t.test('calls: results, failures, and who answered', async t => {
  const ask = await ours(t)
  const done = (await ask(call('fsWriteFile', { path: 'a.txt', content: 'x' }))).body.result
  t.match(done, {
    resultType: 'complete',
    structuredContent: { path: 'a.txt' },
    _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo },
  })
  t.same(JSON.parse(done.content[0].text), done.structuredContent)
  t.match((await ask(call('fsReadFile', { path: 'none' }))).body.result, {
    resultType: 'complete',
    isError: true,
    content: [{ text: /none/ }],
  })
  t.match(await ask(call('no-such-tool')), { status: 200, body: { error: { code: -32602, message: /no-such-tool/ } } })
})

t.test('what is wrong is named', async t => {
  const ask = await ours(t)
  const message = async (name: string) => (await ask(cases[name] as Sent)).body.error.message
  t.match(await message('an empty envelope'), new RegExp(`${version} is missing; ${capabilities} is missing`))
  t.match(await message('a version that is a number'), /protocolVersion must be a string/)
  t.match(await message('no name header'), /Mcp-Name is missing/)
  t.match(await message('another method header'), /Mcp-Method.*"tools\/list"/)
  t.match(await message('a later version'), /2099-01-01.*2026-07-28/)
})

t.test('a header that names no version at all is told all of them', async t => {
  const ask = await ours(t)
  for (const unknown of ['1999-01-01', '2024-10-07', '2099-01-01', 'x'])
    t.match(
      await ask({
        body: { jsonrpc: '2.0', id: 7, method: 'tools/list' },
        headers: { 'mcp-protocol-version': unknown },
      }),
      {
        status: 400,
        body: {
          id: 7,
          error: {
            code: -32022,
            data: {
              requested: unknown,
              supported: [current, '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'],
            },
          },
        },
      },
      unknown,
    )
})

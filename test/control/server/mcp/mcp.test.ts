/** The management API as tools, through the official clients: the same operations, callers and refusals as over HTTP. */
import t from 'tap'
import { mcpClients, type ToolResult } from '../../../support/mcp-clients.ts'
import { served } from '../../../support/management-mcp.ts'

const newest = 'client 2.x, 2026-07-28'
const said = ({ content }: ToolResult) => JSON.parse(content[0]?.text ?? 'null')

t.test('every official client makes, reads, lists, changes and deletes a resource', async t => {
  const { connect, key } = await served(t)
  for (const client of Object.keys(mcpClients)) {
    const { call } = await connect(client, key)
    const body = { metadata: { name: 'vol' }, spec: { size: 100 } }
    t.match(await call('volumes_create', { body }), { structuredContent: { metadata: { name: 'vol' } } }, client)
    t.match((await call('volumes_get', { volumeName: 'vol' })).structuredContent, { spec: { size: 100 } })
    t.match(said(await call('volumes_list', { limit: 1 })), {
      data: [{ metadata: { name: 'vol' } }],
      meta: { total: 1 },
    })
    t.match(await call('volumes_create', { body }), { isError: true, content: [{ text: /already_exists/ }] })
    t.notOk((await call('volumes_delete', { volumeName: 'vol' })).isError)
    t.match(await call('volumes_get', { volumeName: 'vol' }), { isError: true, content: [{ text: /"code":404/ }] })
  }
})

t.test('a tool for every operation that takes and answers JSON, with its arguments as declared', async t => {
  const { connect, key, api } = await served(t)
  const tools = await (await connect(newest, key)).tools()
  const byName = new Map(tools.map(tool => [tool.name, tool]))
  const without = api.bounds.filter(({ route }) => !route.open && !byName.has(route.id.replaceAll('.', '_')))
  t.same(
    without.map(({ route }) => route.id),
    ['templates.source', 'builds.log', 'health.metrics', 'mcp.call'],
    'only what is open to everybody or no JSON is none, and this server itself',
  )
  for (const { name, description, inputSchema } of tools) {
    t.match(name, /^[A-Za-z0-9_-]{1,64}$/)
    t.ok(description, name)
    t.match(inputSchema, { type: 'object', additionalProperties: false }, name)
  }
  t.match(byName.get('sandboxes_get')?.inputSchema, {
    required: ['sandboxName'],
    properties: { sandboxName: { type: 'string' }, workspace: { type: 'string' }, show_secrets: { type: 'boolean' } },
  })
  t.match(byName.get('sandboxes_create'), {
    annotations: { readOnlyHint: false, destructiveHint: false },
    inputSchema: { required: ['body'], properties: { body: { properties: { spec: { type: 'object' } } } } },
  })
})

t.test('a tool acts in the workspace that it is given, else in the one of the header or of the key', async t => {
  const { connect, key, addWorkspace, addKey, call } = await served(t)
  const id = await addWorkspace('other')
  const { call: tool } = await connect(newest, key)
  const body = { metadata: { name: 'there' }, spec: { size: 100 } }
  t.match((await tool('volumes_create', { workspace: 'other', body })).structuredContent, {
    metadata: { workspace: 'other' },
  })
  t.equal((await call('GET', '/volumes/there')).status, 404)
  t.equal((await call('GET', '/volumes/there?workspace=other')).status, 200)
  const bound = await connect(newest, await addKey({ workspace: id, role: 'admin' }))
  t.notOk((await bound.call('volumes_get', { volumeName: 'there' })).isError)
  t.match(await bound.call('volumes_get', { volumeName: 'there', workspace: 'default' }), {
    isError: true,
    content: [{ text: /"code":403/ }],
  })
})

t.test('who may not call an operation is not offered it, and scopes bind as over HTTP', async t => {
  const { connect, addKey } = await served(t)
  const names = async (key: string) => (await (await connect(newest, key)).tools()).map(({ name }) => name)
  t.same(await names(await addKey({ role: 'admin', scopes: ['volumes:list', 'volumes:get'] })), [
    'volumes_get',
    'volumes_getByExternalId',
    'volumes_list',
  ])
  const member = await names(await addKey({ role: 'member' }))
  t.ok(member.includes('sandboxes_create'))
  t.notOk(member.includes('policies_create'), 'for admins')
  const { call } = await connect(newest, await addKey({ role: 'member' }))
  await t.rejects(call('policies_create', { body: {} }), /unknown tool "policies_create"/)
})

t.test('wrong arguments are results that name them, and reach nothing else', async t => {
  const { connect, key } = await served(t)
  const { call } = await connect(newest, key)
  const refused = async (args: Record<string, unknown>, text: RegExp, tool = 'volumes_get') =>
    t.match(await call(tool, args), { isError: true, content: [{ text }] })
  await refused({}, /volumeName: must be/)
  await refused({ volumeName: '' }, /volumeName: must be/)
  await refused({ volumeName: ['a'] }, /volumeName: must be/)
  await refused({ volumeName: 'a', other: 1 }, /has no argument other/)
  await refused({ volumeName: 'a', workspace: {} }, /workspace: must be/)
  await refused({ volumeName: '../sandboxes' }, /"code":404/)
  await refused({ volumeName: '..' }, /"code":404/)
  await refused({ volumeName: '\ud800' }, /"code":404/)
  await refused({ body: 'text' }, /invalid_body/, 'volumes_create')
  await refused({}, /"code":400/, 'volumes_create')
  await refused({ body: { metadata: { name: 'a' }, spec: { size: 'x' } } }, /spec\.size/, 'volumes_create')
})

t.test('without a valid key it is 401, with the document that says whom to ask for one', async t => {
  const { url, connect } = await served(t)
  const post = (headers: Record<string, string>) =>
    fetch(`${url}/mcp`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    })
  for (const headers of [{}, { authorization: 'Bearer wrong' }] as Record<string, string>[]) {
    const answer = await post(headers)
    t.equal(answer.status, 401)
    t.equal(
      answer.headers.get('www-authenticate'),
      'Bearer resource_metadata="http://127.0.0.1:8080/v0/.well-known/oauth-protected-resource/mcp"',
    )
    t.match(await answer.json(), { error: 'unauthenticated', code: 401 })
  }
  t.equal((await fetch(`${url}/volumes`)).headers.get('www-authenticate'), 'Bearer', 'other routes name no document')
  await t.rejects(connect(newest, 'wrong'))
  const stream = await fetch(`${url}/mcp`, { headers: { accept: 'text/event-stream' } })
  t.equal(stream.status, 405, 'there is no stream to listen to')
  t.match(stream.headers.get('allow'), 'POST')
})

/** A daemon that has a key: every endpoint, asked by everybody. */
import t, { type Test } from 'tap'
import { audiences } from '../../../daemon/channel/audience.ts'
import { createConnections, type Caller } from '../../../daemon/channel/connections.ts'
import { jsonLog } from '../../../shared/log.ts'
import { daemon } from '../../support/daemon.ts'

const callers: readonly Caller[] = ['tenant', 'client', 'host']

/** A keyed daemon, and a connection for each caller. */
const keyed = async (t: Test, env: Record<string, string> = {}) => {
  const connections = createConnections({ keyed: true })
  const by: Record<Caller, object> = { tenant: {}, client: {}, host: {} }
  connections.prove(by.client, 'client')
  connections.prove(by.host, 'host')
  const written: string[] = []
  const log = jsonLog({ level: 'info', now: () => 0, write: line => void written.push(line) })
  const lines = (): Record<string, unknown>[] => written.map(line => JSON.parse(line))
  return { ...(await daemon(t, { connections, log, env: { SVC_ENV: 'dev', ...env } })), by, lines }
}

const expected = (id: string, caller: Caller): boolean => {
  const audience = id.startsWith('probe.') ? 'everyone' : audiences.get(id)
  if (audience === 'everyone') return true
  return audience === 'clients' ? caller !== 'tenant' : caller === 'host'
}

t.test('every route answers those in its line and refuses all others with 403', async t => {
  const { daemon: made, call, by } = await keyed(t)
  for (const { route } of made.bounds) {
    const target = route.path.replaceAll(/[:*]\w+/g, 'none')
    for (const caller of callers) {
      const { status, body } = await call(route.method, target, {
        body: {},
        connection: by[caller],
        // Streams go on for ever.
        signal: AbortSignal.timeout(1_000),
      })
      if (expected(route.id, caller)) t.not(status, 403, `${route.id} answers ${caller}`)
      else
        t.match({ status, body }, { status: 403, body: { error: /^this endpoint answers/ } }, `${route.id}, ${caller}`)
    }
  }
})

t.test('what a tenant keeps and loses', async t => {
  const { call, by } = await keyed(t)
  const status = async (method: string, target: string, body?: unknown) =>
    (await call(method, target, { body, connection: by.tenant })).status
  t.equal(await status('PUT', '/filesystem/mine.txt', { content: 'x' }), 200)
  t.equal(await status('POST', '/process', { command: 'true', waitForCompletion: true }), 200)
  t.equal(await status('GET', '/health'), 200)
  t.equal(await status('OPTIONS', '/upgrade'), 204, 'says nothing')
  for (const [method, target] of [
    ['PUT', '/network/tunnel/config'],
    ['PUT', '/network%2Ftunnel%2Fconfig'],
    ['PUT', '/network/tunnel/config?x=%2e%2e'],
    ['DELETE', '/network/tunnel'],
    ['POST', '/upgrade'],
    ['POST', '/%75pgrade'],
    ['POST', '/environment/reload'],
    ['GET', '/drives/mount'],
    ['POST', '/drives/mount'],
    ['DELETE', '/drives/mount/a'],
    ['PUT', '/host/configuration'],
    ['GET', '/system/activity'],
  ] as const)
    t.equal(await status(method, target, {}), 403, `${method} ${target}`)
})

t.test('tools go by the same table', async t => {
  const { call, by } = await keyed(t)
  const lists = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const line = 'mcp:processExecute'
  const name = async (caller: Caller) => {
    const { body } = await call('POST', '/mcp', { body: lists, headers, connection: by[caller] })
    return body.result.tools.some((tool: { name: string }) => tool.name === 'processExecute')
  }
  const run = async (caller: Caller) => {
    const params = { name: 'processExecute', arguments: { command: 'true', waitForCompletion: true } }
    const body = { ...lists, method: 'tools/call', params }
    return (await call('POST', '/mcp', { body, headers, connection: by[caller] })).body
  }
  t.equal(await name('tenant'), true)
  t.match(await run('tenant'), { result: {} })
  // For as long as its line says so.
  const table = audiences as Map<string, 'everyone' | 'clients' | 'host'>
  table.set(line, 'clients')
  t.teardown(() => table.set(line, 'everyone'))
  t.equal(await name('tenant'), false)
  t.match(await run('tenant'), { error: { message: 'unknown tool "processExecute"' } })
  t.equal(await name('client'), true)
  t.match(await run('client'), { result: {} })
})

t.test('the audit believes the gateway and nobody else', async t => {
  const { call, by, lines } = await keyed(t)
  const headers = {
    'x-svc-subject-id': 'key-1',
    'x-svc-subject-type': 'user',
    'x-svc-auth-method': 'api_key',
    'x-subject-id': 'other',
    'x-request-id': 'r-1',
  }
  for (const caller of callers) {
    await call('POST', '/process', {
      body: { command: 'true', waitForCompletion: true },
      headers,
      connection: by[caller],
    })
    const { subjectId, subjectType, authMethod, requestId } =
      lines().findLast(({ event }) => event === 'process_exec') ?? {}
    if (caller === 'tenant') {
      t.same([subjectId, subjectType, authMethod], ['', '', ''])
      t.not(requestId, 'r-1')
    } else t.same([subjectId, subjectType, authMethod, requestId], ['key-1', 'user', 'api_key', 'r-1'], caller)
  }
})

t.test('the host replaces the environment; what was changed since stays', async t => {
  const { call, by } = await keyed(t, { SEEN: 'at start' })
  const configure = (environment: object) =>
    call('PUT', '/host/configuration', { body: { environment }, connection: by.host })
  const get = async (name: string) => {
    const body = { command: `printf %s "$${name}"`, waitForCompletion: true }
    return (await call('POST', '/process', { body, connection: by.tenant })).body.stdout
  }
  t.match(await configure({ A: '1', B: '1', HUTCH_X: 'own' }), { status: 200, body: { applied: 2, removed: 0 } })
  t.same([await get('A'), await get('B'), await get('SEEN'), await get('HUTCH_X')], ['1', '1', 'at start', ''])
  t.match(await configure({ A: '2' }), { status: 200, body: { applied: 1, removed: 1 } })
  t.same([await get('A'), await get('B'), await get('SEEN')], ['2', '', 'at start'])
  t.match(await configure({ 'A=': '2' }), { status: 400 })
  t.match(await call('PUT', '/host/configuration', { body: { more: 1 }, connection: by.host }), { status: 400 })
  t.equal(await get('A'), '2', 'what cannot be understood changes nothing')
})

t.test('a daemon without a key answers all to everybody', async t => {
  const { call } = await daemon(t)
  t.equal((await call('GET', '/system/activity', { connection: {} })).status, 200)
  t.equal((await call('PUT', '/host/configuration', { body: { environment: {} } })).status, 200)
})

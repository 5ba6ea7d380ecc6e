/** A daemon that has a key: every endpoint, asked by everybody. */
import { join } from 'node:path'
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
    ['GET', '/host/identity'],
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

t.test('an anonymous machine becomes somebody in one call, or stays what it was', async t => {
  const { call, by } = await keyed(t, { SVC_WORKSPACE: 'w', SVC_NAME: 'nobody-yet', SVC_WORKSPACE_ID: 'w-1' })
  const configure = (body: object) => call('PUT', '/host/configuration', { body, connection: by.host })
  const whose = async () => (await call('GET', '/host/identity', { connection: by.client })).body
  const run = async (command: string) => {
    const body = { command, waitForCompletion: true }
    return (await call('POST', '/process', { body, connection: by.tenant })).body.stdout.trim()
  }
  const document = async () => (await call('GET', '/swagger/doc.json', { connection: by.tenant })).body.basePath
  const anonymous = { name: 'nobody-yet', workspace: 'w', workspaceId: 'w-1', labels: {}, user: '' }
  t.same(await whose(), anonymous)
  t.equal(await document(), '/w/sandboxes/nobody-yet')
  const identity = { name: 'web', workspace: 'team', workspaceId: 't-1', labels: { stage: 'one' } }
  const environment = { SVC_NAME: 'web', SVC_SANDBOX_USER_ENABLED: 'true', SECRET: 'hush' }

  const refused = await configure({ environment: { ...environment, SVC_SANDBOX_USER: 'no-such-user' }, identity })
  t.match(refused, { status: 400, body: { error: /no user "no-such-user"/ } })
  t.match(await configure({ environment, identity: { ...identity, labels: { a: 1 } } }), { status: 400 })
  t.match(await configure({ environment, identity, etc: { '../x': '' } }), { status: 400 })
  t.same(await whose(), anonymous, 'what is refused changes nothing')
  t.equal(await run('id -u; echo "$SECRET"'), '0')

  const taken = await configure({ environment: { ...environment, SVC_SANDBOX_USER: '4711:4712', SHELL: '' }, identity })
  t.match(taken, { status: 200, body: { unapplied: [] } })
  t.same(await whose(), { ...identity, user: '4711' })
  t.equal(await run('id -u; id -g; echo "$SECRET"; echo $SVC_NAME'), '4711\n4712\nhush\nweb')
  const name = `hutch-claimed-${process.pid}`
  const file = `/filesystem/%2Ftmp%2F${name}`
  t.teardown(() => call('DELETE', file))
  t.equal((await call('PUT', file, { body: { content: 'x' }, connection: by.tenant })).status, 200)
  t.equal(await run(`stat -c %u:%g /tmp/${name}`), '4711:4712', 'files are theirs too')
  t.equal((await call('GET', '/system/activity', { connection: by.host })).body.drives.uidMap, '4711')
  t.equal(await document(), '/team/sandboxes/web')

  t.match(await configure({ environment: { ...environment, DISABLE_TERMINAL: 'true' }, identity }), {
    body: { unapplied: ['terminal'] },
  })
  t.equal(await run('id -u'), '0')
})

t.test('a daemon that is told of an authority points programs to it', async t => {
  const { call, by, config } = await keyed(t)
  const authority = join(t.testdir({ 'ca.pem': '-----BEGIN CERTIFICATE-----\nours\n' }), 'ca.pem')
  const environment = { SANDBOX_EXTRA_CA_CERTS: authority }
  t.equal((await call('PUT', '/host/configuration', { body: { environment }, connection: by.host })).status, 200)
  const body = { command: 'echo $SSL_CERT_FILE; tail -1 $CURL_CA_BUNDLE', waitForCompletion: true }
  const { stdout } = (await call('POST', '/process', { body, connection: by.tenant })).body
  t.equal(stdout, `${config.mergedCaPath}\nours\n`)
})

t.test('a daemon without a key answers all to everybody', async t => {
  const { call } = await daemon(t)
  t.equal((await call('GET', '/system/activity', { connection: {} })).status, 200)
  t.equal((await call('PUT', '/host/configuration', { body: { environment: {} } })).status, 200)
})

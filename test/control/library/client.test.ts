/** The client against a whole host: the management API, and sandboxes through the gateway. */
import t from 'tap'
import { createClient, managementRoutes, sandboxRoutes } from '../../../control/index.ts'
import { testHost } from '../../support/host.ts'

const { host } = await testHost(t)
const { url } = await host.listen()
const { accounts, billing, documents, sandboxes, workspaces } = managementRoutes
const management = createClient({ api: 'management', baseUrl: url, credential: host.adminKey })
t.teardown(management.close)
const { ask } = management

t.test('a sandbox from its creation to its end', async t => {
  const body = { metadata: { name: 'a', labels: { x: 'y' }, externalId: 'ext' }, spec: { runtime: { memory: 1024 } } }
  const made = await ask(sandboxes.create, { body })
  t.equal(made.spec.runtime.memory, 1024)
  t.match(await ask(sandboxes.create, { body, query: { createIfNotExist: true } }), { metadata: { name: 'a' } })
  const params = { sandboxName: 'a' }
  t.match(await ask(sandboxes.get, { params, query: { show_secrets: true } }), { metadata: { labels: { x: 'y' } } })
  t.match(await ask(sandboxes.byExternalId, { params: { externalId: 'ext' } }), { metadata: { name: 'a' } })
  await ask(sandboxes.update, { params, body: { metadata: { displayName: 'Box' } } })
  t.match(await ask(sandboxes.list), [{ metadata: { name: 'a', displayName: 'Box' } }])
  const paged = createClient({
    api: 'management',
    baseUrl: url,
    credential: host.adminKey,
    headers: { 'Svc-Version': '2026-04-28' },
  })
  t.teardown(paged.close)
  t.match(await paged.ask(sandboxes.list, { query: { limit: 1 } }), {
    data: [{ metadata: { name: 'a' } }],
    meta: { total: 1 },
  })

  const { files, processes, terminal } = sandboxRoutes
  const sandbox = createClient({ api: 'sandbox', baseUrl: made.metadata.url ?? '', credential: host.adminKey })
  t.teardown(sandbox.close)
  await sandbox.ask(files.write, { params: { path: 'tree/a b%.txt' }, body: 'through the gateway' })
  const read = await sandbox.stream(files.read, { params: { path: 'tree/a b%.txt' }, query: { download: true } })
  t.equal(String(await read.bytes()), 'through the gateway')
  t.match(await sandbox.ask(processes.start, { body: { command: 'echo hi', waitForCompletion: true } }), {
    stdout: 'hi\n',
  })
  t.match(sandbox.url(terminal.socket), { protocol: 'ws:', pathname: '/default/sandboxes/a/terminal/ws' })

  t.match(await ask(sandboxes.remove, { params }), { status: 'DELETING' })
})

t.test('accounts, bills, workspaces and the document', async t => {
  const [account] = await ask(accounts.list)
  const params = { accountId: account?.id ?? '' }
  const window = { startTime: '2026-01-01T00:00:00Z', endTime: '2026-01-02T00:00:00Z' }
  t.match(await ask(billing.metrics, { params, query: { ...window, limit: 5 } }), { data: [] as [] })
  t.match(await ask(billing.groupings, { params }), { values: ['workspace'] })
  t.match(await ask(workspaces.create, { body: { name: 'other' } }), { name: 'other' })
  t.match(await ask(workspaces.get, { params: { workspaceName: 'other' }, query: { countResources: true } }), {
    resourceCounts: { sandboxes: 0 },
  })
  t.match(await ask(documents.openApi), { openapi: '3.1.0' })
})

t.test('failures of both APIs and of the gateway between them', async t => {
  // Two workspaces by now: one has to be named.
  const query = { workspace: 'default' }
  const body = { metadata: { name: 'b' } }
  await ask(sandboxes.create, { body, query })
  await t.rejects(ask(sandboxes.create, { body, query }), { code: 'already_exists' })
  await t.rejects(ask(sandboxes.create, { body, query: { workspace: 'none' } }), { code: 'not_found' })
  await t.rejects(ask(sandboxes.create, { body: { spec: { runtime: { image: 'none' } } }, query }), {
    code: 'invalid_image',
  })
  await t.rejects(ask(sandboxes.get, { params: { sandboxName: 'none' }, query }), { code: 'not_found', retry: false })
  await t.rejects(ask(sandboxes.list, {}, { headers: { 'svc-version': 'x' } }), { code: 'invalid_api_version' })
  const { files } = sandboxRoutes
  const through = async (path: string, credential: string) => {
    const sandbox = createClient({ api: 'sandbox', baseUrl: `${url}/default/sandboxes/${path}`, credential })
    return sandbox.ask(files.read, { params: { path: '/nowhere/at/all' } }).finally(sandbox.close)
  }
  await t.rejects(through('b', host.adminKey), { code: 'path_not_found', message: /nowhere/ })
  await t.rejects(through('none', host.adminKey), { code: 'not_found', message: /no such sandbox/ })
  await t.rejects(through('b', 'wrong'), { code: 'unauthenticated' })
  const stranger = createClient({ api: 'management', baseUrl: url, credential: 'wrong' })
  await t.rejects(stranger.ask(accounts.list), { code: 'unauthenticated' })
  await stranger.close()
})

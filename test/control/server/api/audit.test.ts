/** The audit: what is written down with every change, reveal and denial, who may read it, and how a forgery shows. */
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import t from 'tap'
import { run } from '../../../../control/cli/audit.ts'
import { control } from '../../../support/control.ts'

type Row = Readonly<Record<string, unknown>>

const said = ({ action, kind, name }: Row) => `${String(action)} ${String(kind)} ${String(name)}`

t.test('every change is written down, with who, what and from where, and nothing of a secret', async t => {
  const { call, addKey, clock } = await control(t)
  const rows = async (query = ''): Promise<Row[]> => (await call('GET', `/audit?limit=100${query}`)).body.data
  const secret = { integration: 'openai', secret: { apiKey: 'sk-hush' } }
  const headers = { 'x-request-id': 'req-1' }
  await call('POST', '/integrations/connections', { metadata: { name: 'ai' }, spec: secret }, { headers })
  await clock.tick(1000)
  await call('PUT', '/integrations/connections/ai', { spec: { config: { baseUrl: 'http://x' } } })
  t.equal((await call('POST', '/integrations/connections', { metadata: { name: 'ai' }, spec: secret })).status, 409)
  await call('DELETE', '/integrations/connections/ai')
  const [gone, changed, made] = await rows()
  t.match(made, {
    action: 'create',
    kind: 'integrationConnection',
    name: 'ai',
    actor: 'admin',
    credential: 'admin',
    requestId: 'req-1',
    account: 'default',
    workspace: 'default',
    time: '2026-01-01T00:00:00.000Z',
  })
  t.match(changed, { action: 'update', detail: { fields: ['spec.config'] }, time: '2026-01-01T00:00:01.000Z' })
  t.match(gone, { action: 'delete', uid: made?.['uid'] })
  t.equal((await rows()).length, 3, 'what was refused is not there')
  t.notMatch(JSON.stringify(await rows()), /hush/)

  await call('POST', '/sandboxes', { metadata: { name: 'web' } })
  await call('POST', '/sandboxes/web/previews', { metadata: { name: 'p' }, spec: { port: 3000 } })
  await call('POST', '/jobs', { metadata: { name: 'nightly' }, spec: {} })
  const { executionId } = (await call('POST', '/jobs/nightly/executions', { tasks: [{}, {}, {}] })).body
  await call('DELETE', `/jobs/nightly/executions/${executionId}`)
  const { client_id: id } = (await call('POST', '/service_accounts', { name: 'ci' })).body
  const { apiKey } = (await call('POST', `/service_accounts/${id}/api_keys`, {})).body
  const personal = (await call('POST', '/api_keys', { name: 'laptop' })).body
  await call('DELETE', `/api_keys/${personal.id}`)
  await call('GET', '/sandboxes/web?show_secrets=true')
  await call('GET', '/sandboxes/web')
  await call('POST', '/workspaces', { name: 'lab' })
  await call('PUT', '/workspaces/lab', { displayName: 'Lab' })
  await call('DELETE', '/workspaces/lab')
  const all = (await rows('&everyWorkspace=true')).toReversed().slice(3)
  t.same(all.map(said), [
    'create sandbox web',
    'create preview web/p',
    'create job nightly',
    `create execution nightly/${executionId}`,
    `cancel execution nightly/${executionId}`,
    `create serviceAccount ${id}`,
    all.map(said)[6],
    `create API key ${personal.id}`,
    `delete API key ${personal.id}`,
    'reveal sandbox web',
    'create workspace lab',
    'update workspace lab',
    'delete workspace lab',
  ])
  t.match(all[6], { action: 'create', kind: 'apiKey' })
  for (const told of [apiKey, personal.apiKey]) t.notMatch(JSON.stringify(all), told)
  t.same(
    (await rows('&workspace=default')).filter(({ kind }) => kind === 'workspace'),
    [],
    'those of one workspace',
  )
  t.same((await rows('&action=reveal')).map(said), ['reveal sandbox web'])
  t.same((await rows('&kind=preview&name=web/p&actor=admin')).length, 1)
  t.same(await rows('&actor=nobody'), [])
  t.same((await rows('&to=2026-01-01T00:00:00Z')).map(said), ['create integrationConnection ai'])
  for (const from of ['soon', '0', '2026-02-30']) t.equal((await call('GET', `/audit?from=${from}`)).status, 400, from)

  const names: string[] = []
  for (let cursor = ''; ; ) {
    const { body } = await call('GET', `/audit?everyWorkspace=true&limit=4${cursor && `&cursor=${cursor}`}`)
    names.push(...body.data.map(({ seq }: Row) => seq))
    if (!body.meta.hasMore) break
    cursor = body.meta.nextCursor
  }
  t.same(
    names,
    Array.from({ length: 16 }, (_, at) => 16 - at),
    'pages leave nothing out',
  )
  const lines = await call('GET', '/audit?everyWorkspace=true&format=jsonl')
  t.match(lines.headers, { 'content-type': 'application/x-ndjson' })
  t.equal(
    lines.text
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)).length,
    16,
  )

  for (const key of [{}, { role: 'admin' as const, scopes: ['sandboxes:list'] }])
    t.equal(
      (await call('GET', '/audit', undefined, { headers: { authorization: `Bearer ${await addKey(key)}` } })).status,
      403,
    )
  const bound = { headers: { authorization: `Bearer ${await addKey({ role: 'admin', workspace: 'default' })}` } }
  t.equal((await call('GET', '/audit', undefined, bound)).status, 200)
  t.equal((await call('GET', '/audit?everyWorkspace=true', undefined, bound)).status, 403)
})

t.test('denials are counted by credential and endpoint; those of nobody in one row', async t => {
  const { call, addKey, clock, store } = await control(t)
  const member = { headers: { authorization: `Bearer ${await addKey({ id: 'key-m', name: 'mary' })}` } }
  for (let time = 0; time < 3; time++) {
    t.equal((await call('POST', '/policies', {}, member)).status, 403)
    t.equal((await call('GET', '/sandboxes', undefined, { headers: { authorization: 'Bearer wrong' } })).status, 401)
    t.equal((await call('GET', '/models', undefined, { headers: { authorization: '' } })).status, 401)
  }
  const of = async (query: string): Promise<Row[]> => (await call('GET', `/audit?action=denied${query}`)).body.data
  const [denied, ...more] = await of('')
  t.same(more, [])
  t.match(denied, {
    actor: 'mary',
    credential: 'key-m',
    name: 'policies.create',
    detail: { count: 3, reason: /admin/ },
  })
  const everywhere = await of('&everyWorkspace=true')
  const strangers = everywhere.filter(({ credential }) => credential === '')
  t.match(strangers, [{ actor: '', workspace: '', detail: { count: 6 } }], 'which admins of the account read')
  await call('GET', '/sandboxes?workspace=none', undefined, member)
  for (let key = 0; key < 600; key++) {
    const authorization = `Bearer ${await addKey({ id: `k${key}`, scopes: [] })}`
    await call('GET', '/sandboxes', undefined, { headers: { authorization } })
  }
  await clock.tick(60_000)
  const all = [...(await store.audit.list({ account: 'default', limit: 1000 })).records]
  // Those of strangers before, and one for all that were too many.
  t.equal(all.length, 503, 'so many rows a minute')
  t.match(
    all.find(({ credential }) => credential === ''),
    { detail: { count: 100 } },
    'and one for the rest',
  )
})

t.test('a change of the audit shows, and so does a tail that was cut off', async t => {
  const { call, dataDir, store } = await control(t)
  for (const name of ['a', 'b', 'c']) await call('POST', '/policies/', { metadata: { name } })
  for (const name of ['a', 'b', 'c']) await call('POST', '/drives', { metadata: { name } })
  const head = (await call('GET', '/audit/head')).body
  t.match(head, { seq: 3, hash: /^[0-9a-f]{64}$/ })
  const said: string[] = []
  const audit = (word: string, known?: string) =>
    run({
      env: { HUTCH_DATA_DIR: dataDir },
      cwd: dataDir,
      words: [word],
      options: { head: known },
      say: line => void said.push(line),
    })
  const db = new Sqlite(join(dataDir, 'hutch.db'))
  t.teardown(() => db.close())
  t.throws(() => db.exec(`UPDATE audit SET actor = 'eve'`), /only added to/)
  t.throws(() => db.exec('DELETE FROM audit'), /only added to/)
  t.equal(await audit('verify'), 0)
  t.equal(await audit('head'), 0)
  const known = said.at(-1) as string
  t.equal(known, `${head.seq}:${head.hash}`)
  t.equal(await audit('verify', known), 0)
  db.exec('DROP TRIGGER audit_stays; DROP TRIGGER audit_kept')
  const { hash } = db.prepare('SELECT hash FROM audit WHERE seq = 2').get() as { hash: string }
  db.exec(`UPDATE audit SET name = 'x' WHERE seq = 2`)
  t.equal(await audit('verify'), 1)
  t.match(said.at(-1), /^row 2: it is not what was written/)
  db.exec(`UPDATE audit SET name = 'b' WHERE seq = 2`)
  t.equal(await audit('verify'), 0)
  db.exec('DELETE FROM audit WHERE seq = 2')
  t.equal(await audit('verify'), 1)
  t.match(said.at(-1), /rows 2 to 2 are missing/)
  db.exec('DELETE FROM audit WHERE seq = 3')
  t.equal(await audit('verify'), 0, 'a cut tail does not show by itself')
  t.equal(await audit('verify', known), 1, 'but by the head that was kept')
  t.equal(await audit('verify', `2:${hash}`), 1)
  await t.rejects(audit('verify', 'x'), { code: 'invalid_argument' })
  await t.rejects(audit('burn'), { code: 'invalid_argument' })
  t.equal((await store.audit.verify()).head.seq, 1)
})

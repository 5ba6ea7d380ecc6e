/** Keys of persons: what they may, that they are told once and nothing is kept, and when each was last used. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { control, type TestControl } from '../../../support/control.ts'

const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })

const keyOf = async ({ call }: TestControl, body: object = {}, by: object = {}) => {
  const made = await call('POST', '/api_keys', body, by)
  return made.status === 200 ? made.body : made
}

t.test('a key is told once, works at once, and ends when its time is over or it is revoked', async t => {
  const made = await control(t)
  const { call, clock } = made
  const { apiKey, ...shown } = await keyOf(made, { name: 'laptop', expires_in: '2h' })
  t.match(apiKey, /^hutch_[\w-]{40,}$/)
  t.match(shown, {
    name: 'laptop',
    expires_in: '2h',
    expiresAt: '2026-01-01T02:00:00.000Z',
    sub: 'admin',
    role: 'admin',
  })
  t.match(shown, { sub_type: 'user', scopes: undefined, workspace: undefined, defaultWorkspace: undefined })
  const listed = (await call('GET', '/api_keys')).body
  t.match(listed, [{ id: 'admin', name: 'admin', defaultWorkspace: 'default' }, shown])
  t.equal(JSON.stringify(listed).includes(apiKey), false)
  const disk = ['hutch.db', 'hutch.db-wal'].map(file => readFileSync(join(made.dataDir, file), 'latin1')).join('')
  t.notOk(disk.includes(apiKey))
  const child = await keyOf(made, { expires_in: '9d' }, as(apiKey))
  t.equal(child.expiresAt, shown.expiresAt, 'a key makes none that outlives it')
  t.equal((await keyOf(made, {}, as(apiKey))).expiresAt, shown.expiresAt)
  const sandbox = await call('POST', '/sandboxes', { metadata: { name: 'a' } }, as(apiKey))
  t.match(sandbox, { status: 200, body: { metadata: { createdBy: 'admin' } } })
  const other = await keyOf(made)
  t.equal((await call('GET', '/sandboxes', undefined, as(other.apiKey))).status, 200)
  t.match(await call('DELETE', `/api_keys/${other.id}`), { status: 200, text: '' })
  t.equal((await call('GET', '/sandboxes', undefined, as(other.apiKey))).status, 401)
  t.equal((await call('DELETE', `/api_keys/${other.id}`)).status, 404)
  await clock.tick(2 * 3_600_000)
  t.match(await call('GET', '/sandboxes', undefined, as(apiKey)), { status: 401, body: { message: /expired/ } })
  t.match(await call('DELETE', '/api_keys/admin'), { status: 409, body: { message: /admin-key/ } })
})

t.test('a key makes, sees and revokes none that may do more than itself', async t => {
  const made = await control(t)
  const { call, addWorkspace } = made
  await addWorkspace('team')
  const wide = await keyOf(made, { name: 'wide' })
  const bound = await keyOf(made, { name: 'bound', workspace: 'team' })
  const member = await keyOf(made, { name: 'member', role: 'member' })
  const limited = await keyOf(made, { name: 'limited', scopes: ['apiKey:list', 'apiKey:write', 'sandboxes:list'] })
  const names = async (key: { apiKey: string }) =>
    (await call('GET', '/api_keys', undefined, as(key.apiKey))).body.map(({ name }: { name: string }) => name)
  t.same(await names(wide), ['admin', 'wide', 'bound', 'member', 'limited'])
  t.same(await names(bound), ['bound'])
  t.same(await names(member), ['member'])
  t.same(await names(limited), ['limited'])
  for (const key of [bound, member, limited])
    t.equal((await call('DELETE', `/api_keys/${wide.id}`, undefined, as(key.apiKey))).status, 404)
  const refused = async (body: object, key: { apiKey: string }) => (await keyOf(made, body, as(key.apiKey))).status
  t.equal(await refused({ role: 'admin' }, member), 403)
  t.match(await keyOf(made, {}, as(limited.apiKey)), { scopes: limited.scopes })
  t.equal(await refused({ scopes: ['sandboxes:delete'] }, limited), 403)
  t.equal(await refused({ workspace: 'default' }, bound), 400)
  t.match(await keyOf(made, {}, as(bound.apiKey)), { workspace: 'team', role: 'admin' })
  t.equal((await call('POST', '/workspaces', { name: 'x' }, as(bound.apiKey))).status, 403)
  t.match(await keyOf(made, { scopes: ['sandboxes:list'] }, as(limited.apiKey)), { scopes: ['sandboxes:list'] })
  const account = (await call('POST', '/service_accounts', { name: 'ci' })).body.client_id
  const service = (await call('POST', `/service_accounts/${account}/api_keys`, {})).body
  t.match(await keyOf(made, {}, as(service.apiKey)), { status: 403, body: { message: /service account/ } })
})

t.test('a key means the workspace that was set on it, and bad members are named', async t => {
  const made = await control(t)
  const { call, addWorkspace } = made
  await addWorkspace('team')
  await addWorkspace('foreign', 'other')
  const meaning = await keyOf(made, { defaultWorkspace: 'team' })
  t.match(meaning, { defaultWorkspace: 'team' })
  t.match((await call('POST', '/sandboxes', {}, as(meaning.apiKey))).body, { metadata: { workspace: 'team' } })
  const none = await keyOf(made)
  t.match(await call('GET', '/sandboxes', undefined, as(none.apiKey)), { status: 400, body: { message: /workspace/ } })
  for (const [body, field] of [
    [{ workspace: 'none' }, 'workspace'],
    [{ defaultWorkspace: 'foreign' }, 'defaultWorkspace'],
    [{ workspace: 'team', defaultWorkspace: 'default' }, 'defaultWorkspace'],
    [{ expires_in: '0d' }, 'expires_in'],
    [{ expires_in: '11000d' }, 'expires_in'],
    [{ scopes: ['everything'] }, 'scopes.0'],
    [{ role: 'root' }, 'role'],
    [{ name: 7 }, 'name'],
  ] as const)
    t.match(await keyOf(made, body), { status: 400, body: { message: new RegExp(`(^|body: )${field}: `) } }, field)
})

t.test('when a key was last used is written down from time to time, and seen at once', async t => {
  const made = await control(t)
  const { call, clock, store } = made
  const { apiKey, id } = await keyOf(made)
  const account = (await call('POST', '/service_accounts', { name: 'ci' })).body.client_id
  const keys = `/service_accounts/${account}/api_keys`
  const service = (await call('POST', keys, {})).body
  const usedAt = async () => [
    (await call('GET', '/api_keys')).body.find((key: { id: string }) => key.id === id).lastUsedAt,
    (await call('GET', keys)).body[0].lastUsedAt,
  ]
  t.same(await usedAt(), [undefined, undefined])
  await clock.tick(1_000)
  for (const key of [apiKey, service.apiKey]) await call('GET', '/sandboxes?workspace=default', undefined, as(key))
  const at = '2026-01-01T00:00:01.000Z'
  t.same(await usedAt(), [at, at])
  t.equal(await store.tenants.keyUse(id), undefined, 'no request is a write')
  await clock.tick(60_000)
  t.equal(await store.tenants.keyUse(id), Date.parse(at))
  t.same(await usedAt(), [at, at])
})

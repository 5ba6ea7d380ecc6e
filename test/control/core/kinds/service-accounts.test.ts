/** Service accounts and their keys: what they may, for how long, and that nothing of a key is kept. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { control, type TestControl } from '../../../support/control.ts'

const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })

const account = async ({ call }: TestControl, body: object = {}) =>
  (await call('POST', '/service_accounts', { name: 'ci', ...body })).body

const keyOf = async ({ call }: TestControl, id: string, body: object = {}) =>
  (await call('POST', `/service_accounts/${id}/api_keys`, body)).body

t.test('an account is flat, and tells its secret once', async t => {
  const { call } = await control(t)
  const made = (await call('POST', '/service_accounts', { name: 'ci', description: 'builds' })).body
  const { client_id: id, client_secret: secret, ...rest } = made
  t.match(secret, /^[\w-]{40,}$/)
  t.same(Object.keys(rest).toSorted(), ['created_at', 'description', 'name', 'role', 'updated_at'])
  t.same((await call('GET', '/service_accounts')).body, [{ client_id: id, ...rest }])
  t.match(await call('PUT', `/service_accounts/${id}`, { description: 'more' }), {
    status: 200,
    body: { name: 'ci', description: 'more', client_secret: undefined },
  })
  t.match(await call('PUT', `/service_accounts/${id}`, { role: 'admin' }), {
    status: 400,
    body: { message: /^role: / },
  })
  t.match(await call('POST', '/service_accounts', {}), { status: 400, body: { message: /name: is missing/ } })
  t.match(await call('POST', '/service_accounts', { name: '' }), { status: 400 })
  t.equal((await call('GET', `/service_accounts/${id}`)).status, 405, 'there is no reading one')
})

t.test('a key works from its creation to its end, in its workspace alone', async t => {
  const made = await control(t)
  const { call, clock, addWorkspace } = made
  await addWorkspace('other')
  const { client_id: id } = (await call('POST', '/service_accounts?workspace=default', { name: 'ci' })).body
  const keys = `/service_accounts/${id}/api_keys`
  const key = (await call('POST', `${keys}?workspace=default`, { name: 'laptop', expires_in: '2h' })).body
  t.match(key, { apiKey: /^hutch_/, sub: id, sub_type: 'service_account', name: 'laptop', expires_in: '2h' })
  const { apiKey, ...shown } = key
  t.same((await call('GET', `${keys}?workspace=default`)).body, [shown], 'it is told once')
  t.match(await call('POST', '/policies', { metadata: { name: 'x' } }, as(apiKey)), { status: 403 }, 'it is a member')
  const sandbox = await call('POST', '/sandboxes', { metadata: { name: 'a' } }, as(apiKey))
  t.match(sandbox, { status: 200, body: { metadata: { createdBy: id } } })
  t.equal((await call('GET', '/sandboxes?workspace=other', undefined, as(apiKey))).status, 403)
  await clock.tick(2 * 3_600_000)
  t.match(await call('GET', '/sandboxes', undefined, as(apiKey)), { status: 401, body: { message: /expired/ } })
})

t.test('a deleted key, and every key of a deleted account, is refused at once', async t => {
  const made = await control(t)
  const { call } = made
  const { client_id: id } = await account(made)
  const [one, two] = [await keyOf(made, id), await keyOf(made, id)]
  const works = async (key: { apiKey: string }) => (await call('GET', '/sandboxes', undefined, as(key.apiKey))).status
  t.same([await works(one), await works(two)], [200, 200])
  const gone = await call('DELETE', `/service_accounts/${id}/api_keys/${one.id}`)
  t.match(gone, { status: 200, text: '', headers: { 'content-length': '0' } })
  t.same([await works(one), await works(two)], [401, 200])
  t.match(await call('DELETE', `/service_accounts/${id}`), { status: 200, body: { client_id: id } })
  t.same([await works(one), await works(two)], [401, 401])
})

t.test('an admin account acts as one; a limited key makes none that may do more', async t => {
  const made = await control(t)
  const { call } = made
  const { client_id: id } = await account(made, { role: 'admin' })
  const limited = await keyOf(made, id, { scopes: ['apiKey:write', 'apiKey:list'] })
  const keys = `/service_accounts/${id}/api_keys`
  t.equal((await call('GET', keys, undefined, as(limited.apiKey))).status, 200)
  t.equal((await call('GET', '/sandboxes', undefined, as(limited.apiKey))).status, 403)
  t.equal((await call('POST', keys, {}, as(limited.apiKey))).status, 403, 'one without limits')
  t.equal((await call('POST', keys, { scopes: ['sandboxes:list'] }, as(limited.apiKey))).status, 403)
  t.equal((await call('POST', keys, { scopes: ['apiKey:list'] }, as(limited.apiKey))).status, 200)
  const whole = await keyOf(made, id)
  const policy = { metadata: { name: 'p' }, spec: { type: 'flavor', flavors: [{ name: 'x86', type: 'cpu' }] } }
  t.equal((await call('POST', '/policies', policy, as(whole.apiKey))).status, 200)
})

t.test('times that make no sense are refused', async t => {
  const made = await control(t)
  const { client_id: id } = await account(made)
  for (const expires_in of ['0d', '11000d', 'soon', '1y', '-1d', 7]) {
    const { status, body } = await made.call('POST', `/service_accounts/${id}/api_keys`, { expires_in })
    t.match({ status, body }, { status: 400, body: { message: /expires_in/ } }, String(expires_in))
  }
  t.equal((await made.call('POST', '/service_accounts/none/api_keys', {})).status, 404)
})

t.test('neither key nor secret is on disk', async t => {
  const made = await control(t)
  const { client_id: id, client_secret: secret } = await account(made)
  const { apiKey } = await keyOf(made, id)
  const disk = ['hutch.db', 'hutch.db-wal'].map(file => readFileSync(join(made.dataDir, file), 'latin1')).join('')
  for (const text of [secret, apiKey]) t.notOk(disk.includes(text))
})

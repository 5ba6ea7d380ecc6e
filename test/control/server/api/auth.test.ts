import t from 'tap'
import { control } from '../../../support/control.ts'

const list = (headers: Record<string, string>) => ({ headers })

t.test('a key is taken from either header, and the named one wins', async t => {
  const { call, key } = await control(t)
  const bearer = `Bearer ${key}`
  t.match(await call('GET', '/sandboxes', undefined, list({ authorization: bearer })), { status: 200 })
  t.match(await call('GET', '/sandboxes', undefined, list({ authorization: '', 'x-svc-authorization': bearer })), {
    status: 200,
  })
  const both = { authorization: 'Bearer of-a-vendor', 'x-svc-authorization': bearer }
  t.match(await call('GET', '/sandboxes', undefined, list(both)), { status: 200 })
  const wrong = { authorization: bearer, 'x-svc-authorization': 'Bearer wrong' }
  t.match(await call('GET', '/sandboxes', undefined, list(wrong)), { status: 401 })
})

t.test('a header of another scheme is somebody else’s: the first that carries a bearer counts', async t => {
  const { call, key } = await control(t)
  const basic = 'Basic dXNlcjpzZWNyZXQ='
  const asked = (headers: Record<string, string>) => call('GET', '/sandboxes', undefined, list(headers))
  t.match(await asked({ 'x-svc-authorization': basic, authorization: `Bearer ${key}` }), { status: 200 })
  t.match(await asked({ 'x-svc-authorization': `Bearer ${key}`, authorization: basic }), { status: 200 })
  t.match(await asked({ 'x-svc-authorization': basic, authorization: basic }), {
    status: 401,
    body: { message: /must have the form "Bearer <key>"/ },
  })
  t.match(await asked({ authorization: '' }), { status: 401, body: { message: /send an API key/ } })
})

t.test('a missing, odd or unknown credential is 401 and changes nothing', async t => {
  const { call, store, key } = await control(t)
  for (const authorization of ['', key, 'Bearer', 'Bearer ', `Basic ${key}`, 'Bearer nope', `Bearer ${key} x`]) {
    const answer = await call('POST', '/sandboxes', { metadata: { name: 'a' } }, list({ authorization }))
    t.match(answer, {
      status: 401,
      body: { code: 401, error: 'UNAUTHENTICATED' },
      headers: { 'www-authenticate': 'Bearer' },
    })
  }
  t.match(await call('GET', '/accounts', undefined, list({ authorization: '' })), { status: 401 })
  t.equal(await store.resources.count('sandbox', 'default'), 0)
})

t.test('an expired key is 401', async t => {
  const { call, clock, addKey } = await control(t)
  const short = await addKey({ expiresAt: clock.now() + 1000 })
  const asked = list({ authorization: `Bearer ${short}` })
  t.match(await call('GET', '/sandboxes', undefined, asked), { status: 200 })
  await clock.tick(1000)
  t.match(await call('GET', '/sandboxes', undefined, asked), { status: 401, body: { message: /expired/ } })
})

t.test('the workspace is chosen by query or header, by name or id', async t => {
  const { call, addWorkspace } = await control(t)
  const id = await addWorkspace('team')
  await call('POST', '/sandboxes?workspace=team', { metadata: { name: 'a' } })
  const found = { status: 200, body: { metadata: { workspace: 'team' } } }
  t.match(await call('GET', '/sandboxes/a?workspace=team'), found)
  t.match(await call('GET', `/sandboxes/a?workspace=${id}`), found)
  t.match(await call('GET', '/sandboxes/a', undefined, list({ 'x-svc-workspace': 'team' })), found)
  t.match(await call('GET', '/sandboxes/a', undefined, list({ 'X-Svc-Workspace': id })), found)
  t.match(await call('GET', '/sandboxes/a', undefined, list({ 'x-svc-workspace': 'default' })), { status: 404 })
})

t.test('with several workspaces and none named the answer is 400', async t => {
  const { call, addWorkspace, addKey } = await control(t)
  const plain = { headers: { authorization: `Bearer ${await addKey({})}` } }
  t.match(await call('GET', '/sandboxes', undefined, plain), { status: 200 })
  await addWorkspace('team')
  const none = { status: 400, body: { message: /workspace: is required/ } }
  t.match(await call('GET', '/sandboxes', undefined, plain), none)
  t.match(await call('GET', '/accounts', undefined, plain), { status: 200 }, 'accounts need none')
  const meaning = { headers: { authorization: `Bearer ${await addKey({ defaultWorkspace: 'team' })}` } }
  const made = await call('POST', '/sandboxes', { metadata: { name: 'b' } }, meaning)
  t.match(made, { status: 200, body: { metadata: { workspace: 'team' } } }, 'unless the key means one')
  t.match(
    await call('GET', '/sandboxes/b?workspace=default', undefined, meaning),
    { status: 404 },
    'what is named wins',
  )
  t.match(await call('POST', '/sandboxes', {}), { status: 200, body: { metadata: { workspace: 'default' } } })
  t.match(await call('DELETE', '/workspaces/team'), { status: 200 })
  await addWorkspace('third')
  t.match(await call('GET', '/sandboxes', undefined, meaning), none, 'and that is there')
})

t.test('an unknown workspace is 404, one out of reach 403', async t => {
  const { call, addWorkspace, addKey } = await control(t)
  await addWorkspace('team')
  await addWorkspace('foreign', 'other')
  t.match(await call('GET', '/sandboxes?workspace=nowhere'), { status: 404, body: { code: 404 } })
  t.match(await call('GET', '/sandboxes?workspace=foreign'), { status: 403, body: { code: 403 } })
  const bound = list({ authorization: `Bearer ${await addKey({ workspace: 'team' })}` })
  t.match(await call('GET', '/sandboxes', undefined, bound), { status: 200 })
  t.match(await call('GET', '/sandboxes?workspace=team', undefined, bound), { status: 200 })
  t.match(await call('GET', '/sandboxes?workspace=default', undefined, bound), { status: 403 })
})

t.test('the same names under every configured prefix', async t => {
  const { call, key } = await control(t, {
    wireNames: [
      { header: 'Svc', short: 'svc', image: 'svc' },
      { header: 'Acme', short: 'ac', image: 'acme' },
    ],
    apiVersions: { '2026-06-01': '2026-04-28' },
  })
  const headers = { authorization: '', 'X-Acme-Authorization': `Bearer ${key}`, 'X-Acme-Workspace': 'default' }
  t.match(await call('GET', '/sandboxes', undefined, list(headers)), { status: 200 })
  t.match(await call('GET', '/sandboxes', undefined, list({ 'svc-version': '', 'acme-version': '2026-04-28' })), {
    status: 200,
    body: { meta: {} },
  })
  t.match(await call('GET', '/sandboxes', undefined, list({ 'svc-version': '2026-06-01' })), { body: { meta: {} } })
  t.match(await call('GET', '/sandboxes', undefined, list({ 'svc-version': '2026-06-02' })), {
    status: 400,
    body: { error: 'invalid_api_version', message: /2026-04-16, 2026-04-28, 2026-06-01$/ },
  })
})

t.test('secrets are shown to a workspace admin only', async t => {
  const { call, addKey } = await control(t)
  const envs = [{ name: 'TOKEN', value: 'hush', secret: true }]
  await call('POST', '/sandboxes', { metadata: { name: 'a' }, spec: { runtime: { envs } } })
  const member = list({ authorization: `Bearer ${await addKey({ role: 'member' })}` })
  t.match(await call('GET', '/sandboxes/a?show_secrets=true', undefined, member), { status: 403 })
  t.notMatch((await call('GET', '/sandboxes/a', undefined, member)).text, 'hush')
  t.match((await call('GET', '/sandboxes/a?show_secrets=true')).body.spec.runtime.envs, envs)
  t.notMatch((await call('GET', '/sandboxes/a')).text, 'hush')
})

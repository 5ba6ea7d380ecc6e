/** Tokens of service accounts: got as the contract's clients get them, good for what the account may, and no longer than it. */
import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto'
import t from 'tap'
import { control, type TestControl } from '../../../../support/control.ts'

const none = { authorization: '' }

const accountOf = async ({ call }: TestControl, body: object = {}) => {
  const made = (await call('POST', '/service_accounts?workspace=default', { name: 'ci', ...body })).body
  return { id: made.client_id as string, secret: made.client_secret as string }
}

const basic = (id: string, secret: string) => `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`

const tokenFor = ({ call }: TestControl, { id, secret }: { id: string; secret: string }, more: object = {}) =>
  call(
    'POST',
    '/oauth/token',
    { grant_type: 'client_credentials', ...more },
    { headers: { authorization: basic(id, secret) } },
  )

const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

const partOf = (token: string, at: number) =>
  JSON.parse(Buffer.from(token.split('.')[at] ?? '', 'base64url').toString())

t.test('a token is had with the secret in the header or in the body, as JSON or as a form', async t => {
  const made = await control(t)
  const { call } = made
  const account = await accountOf(made)
  const { id, secret } = account
  const byHeader = await tokenFor(made, account)
  t.match(byHeader, {
    status: 200,
    headers: { 'content-type': /^application\/json/, 'cache-control': 'no-store' },
    body: { token_type: 'Bearer', expires_in: 7200, access_token: /^eyJ/ },
  })
  const grant = { grant_type: 'client_credentials' }
  const inBody = await call(
    'POST',
    '/oauth/token',
    { ...grant, client_id: id, client_secret: secret },
    { headers: none },
  )
  t.match(inBody, { status: 200, body: { access_token: /^eyJ/ } })
  const form = await call('POST', '/oauth/token', 'grant_type=client_credentials', {
    headers: { authorization: basic(id, secret), 'content-type': 'application/x-www-form-urlencoded' },
  })
  t.match(form, { status: 200, body: { access_token: /^eyJ/ } })
  const { iat, exp, ...claims } = partOf(byHeader.body.access_token, 1)
  t.equal(exp - iat, 7200)
  t.match(claims, { iss: 'http://127.0.0.1:8080/v0', sub: id, client_id: id, sub_type: 'service_account' })
  t.match(await call('GET', '/sandboxes', undefined, as(byHeader.body.access_token)), { status: 200 })
})

t.test('what is wrong with a request is a 400 that OAuth clients read', async t => {
  const made = await control(t)
  const { call } = made
  const account = await accountOf(made)
  const grant = { grant_type: 'client_credentials' }
  const wrong = [
    [await tokenFor(made, { ...account, secret: 'wrong' }), 'invalid_client'],
    [await tokenFor(made, { id: 'nobody', secret: 'wrong' }), 'invalid_client'],
    [await tokenFor(made, account, { grant_type: 'password' }), 'unsupported_grant_type'],
    [await tokenFor(made, account, { scope: 'sandboxes:fly' }), 'invalid_scope'],
    [await tokenFor(made, account, { resource: 'https://elsewhere.example/' }), 'invalid_target'],
    [await call('POST', '/oauth/token', {}, { headers: none }), 'invalid_request'],
    [await call('POST', '/oauth/token', grant, { headers: none }), 'invalid_request'],
    [await call('POST', '/oauth/token', [], { headers: none }), 'invalid_request'],
    [await call('POST', '/oauth/token', '{"a', { headers: none }), 'invalid_request'],
  ] as const
  for (const [answer, error] of wrong) t.match(answer, { status: 400, body: { error, code: 400 } }, error)
  t.same(
    wrong.filter(([{ text }]) => text.includes(account.secret)),
    [],
    'and tells no secret',
  )
})

t.test('a token is limited to its scopes, and to the role and the workspace of its account', async t => {
  const made = await control(t)
  const { call, addWorkspace } = made
  await addWorkspace('other')
  const account = await accountOf(made)
  const limited = (await tokenFor(made, account, { scope: 'sandboxes:list drives:list' })).body
  t.equal(limited.scope, 'sandboxes:list drives:list', 'one that no operation declares among them')
  t.equal((await call('GET', '/sandboxes', undefined, as(limited.access_token))).status, 200)
  t.equal((await call('GET', '/drives', undefined, as(limited.access_token))).status, 200)
  t.match(await call('GET', '/jobs', undefined, as(limited.access_token)), {
    status: 403,
    body: { message: /jobs:list/ },
  })
  const whole = (await tokenFor(made, account)).body.access_token
  t.equal((await call('GET', '/jobs', undefined, as(whole))).status, 200)
  t.equal((await call('GET', '/jobs?workspace=other', undefined, as(whole))).status, 403)
  t.match(await call('POST', '/policies', { metadata: { name: 'p' } }, as(whole)), {
    status: 403,
    body: { message: /admin/ },
  })
})

t.test('tokens of an account that is gone are refused at once', async t => {
  const made = await control(t)
  const { call } = made
  const account = await accountOf(made)
  const token = (await tokenFor(made, account)).body.access_token
  t.equal((await call('GET', '/sandboxes', undefined, as(token))).status, 200)
  await call('DELETE', `/service_accounts/${account.id}?workspace=default`)
  t.match(await call('GET', '/sandboxes', undefined, as(token)), { status: 401, body: { message: /revoked/ } })
  t.match(await tokenFor(made, account), { status: 400, body: { error: 'invalid_client' } })
})

t.test('a token that somebody else made is none', async t => {
  const made = await control(t)
  const { call } = made
  const token = (await tokenFor(made, await accountOf(made))).body.access_token as string
  const [head, body, signature] = token.split('.') as [string, string, string]
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = partOf(token, 1)
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const own = (header: string, payload: string) =>
    `${header}.${payload}.${sign('sha256', Buffer.from(`${header}.${payload}`), privateKey).toString('base64url')}`
  const forged = {
    'another signature': own(head, body),
    'no signature': `${encode({ alg: 'none', kid: partOf(token, 0).kid })}.${body}.${signature}`,
    'another algorithm': own(encode({ ...partOf(token, 0), alg: 'HS256' }), body),
    'other claims': `${head}.${encode({ ...claims, grant: 'client:other' })}.${signature}`,
    'no JSON': `eyJ.${body}.${signature}`,
    'a key that is not there': own(encode({ ...partOf(token, 0), kid: 'other' }), body),
  }
  for (const [what, one] of Object.entries(forged))
    t.match(
      await call('GET', '/sandboxes', undefined, as(one)),
      { status: 401, body: { error: 'unauthenticated' } },
      what,
    )
})

t.test('discovery leads to the keys that verify a token, and says which scopes there are', async t => {
  const made = await control(t)
  const { call } = made
  const token = (await tokenFor(made, await accountOf(made))).body.access_token as string
  const found = await call('GET', '/.well-known/openid-configuration', undefined, { headers: none })
  t.match(found, {
    status: 200,
    body: {
      issuer: 'http://127.0.0.1:8080/v0',
      token_endpoint: 'http://127.0.0.1:8080/v0/oauth/token',
      jwks_uri: 'http://127.0.0.1:8080/v0/oauth/jwks.json',
    },
  })
  t.same((await call('GET', '/.well-known/oauth-authorization-server', undefined, { headers: none })).body, found.body)
  const { keys } = (await call('GET', '/oauth/jwks.json', undefined, { headers: none })).body
  t.equal(keys.length, 1)
  t.notOk('d' in keys[0], 'nothing of the private key')
  const [head, body, signature = ''] = token.split('.')
  const key = createPublicKey({ key: keys[0], format: 'jwk' })
  t.ok(verify('sha256', Buffer.from(`${head}.${body}`), key, Buffer.from(signature, 'base64url')))
  t.match(await call('GET', '/.well-known/oauth-protected-resource', undefined, { headers: none }), {
    status: 200,
    body: { resource: 'http://127.0.0.1:8080/v0', authorization_servers: ['http://127.0.0.1:8080/v0'] },
  })
})

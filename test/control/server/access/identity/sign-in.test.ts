/** People sign in, and say what may act for them: with a code, on a device, for clients that registered themselves. */
import t from 'tap'
import { passwordLink } from '../../../../../control/server/access/identity/operator.ts'
import { systemClock } from '../../../../../shared/clock.ts'
import { randomIds } from '../../../../../shared/ids.ts'
import { ada, browser, hostWithAdmin, hostWithNobody, verifierFor, type Browser } from '../../../../support/sign-in.ts'

// Passwords cost.
t.setTimeout(240_000)

const back = 'http://127.0.0.1:7777/callback'

const authorizeUrl = (url: string, more: Readonly<Record<string, string>> = {}) =>
  `${url}/v0/oauth/authorize?${new URLSearchParams({
    client_id: 'svc',
    response_type: 'code',
    redirect_uri: back,
    scope: 'openid offline_access',
    state: 's1',
    ...more,
  })}`

const signedIn = async (person: Browser, url: string, more: Readonly<Record<string, string>>) => {
  const asked = await person.open(authorizeUrl(url, more))
  return person.open(asked.url, { do: 'sign-in', email: ada.email, password: ada.password })
}

/** The code that the client is sent, with the verifier that is good for it. */
const codeFor = async (url: string, more: Readonly<Record<string, string>> = {}) => {
  const { verifier, challenge } = verifierFor()
  const person = browser(url)
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
  const consent = await signedIn(person, url, { ...pkce, ...more })
  const done = await person.open(consent.url, { do: 'allow' })
  return { code: new URL(done.url).searchParams.get('code') ?? '', verifier, consent, done, person }
}

const exchanged = (code: string, verifier: string) => ({
  grant_type: 'authorization_code',
  client_id: 'svc',
  redirect_uri: back,
  code,
  code_verifier: verifier,
})

t.test(
  'a person signs in and allows; the client gets tokens, once, and renews them without saying who it is',
  async t => {
    const { url, post, as, host, api } = await hostWithAdmin(t)
    const { code, verifier, consent, done } = await codeFor(url)
    t.match(consent.text, /everything that you may do/)
    t.equal(new URL(done.url).origin, new URL(back).origin)
    t.equal(new URL(done.url).searchParams.get('state'), 's1')
    t.equal(new URL(done.url).searchParams.get('iss'), `${url}/v0`, 'a client of two hosts knows whose answer it is')
    const tokens = await post('/v0/oauth/token', exchanged(code, verifier))
    t.match(tokens, {
      status: 200,
      body: { access_token: /^eyJ/, refresh_token: /./, id_token: /^eyJ/, expires_in: 7200 },
    })
    t.equal(await as(tokens.body.access_token, '/sandboxes'), 200)
    t.equal(await as(tokens.body.access_token, '/accounts'), 200)
    const renewed = await post('/v0/oauth/token', {
      grant_type: 'refresh_token',
      refresh_token: tokens.body.refresh_token,
    })
    t.match(renewed, { status: 200, body: { access_token: /^eyJ/, refresh_token: /./ } })
    t.equal(await as(renewed.body.access_token, '/sandboxes'), 200)
    const bad = await post('/v0/oauth/token', { grant_type: 'refresh_token', refresh_token: 'nothing' })
    t.match(bad, { status: 400, body: { error: 'invalid_grant' } })
    const [allowed] = (await host.store.tenants.personalKeys('default')).filter(({ hash }) => hash.startsWith('grant:'))
    await host.store.tenants.removeApiKey(allowed?.id ?? '')
    t.equal(await as(renewed.body.access_token, '/sandboxes'), 401, 'what is revoked is refused at once')
    const actions = (await api('GET', '/audit?everyWorkspace=true')).text
    t.match(actions, /sign-in/)
    t.match(actions, /allow/)
    t.notMatch(actions, ada.password)
  },
)

t.test('a code is good once, for who began, and only with its verifier', async t => {
  const { url, post } = await hostWithAdmin(t)
  const first = await codeFor(url)
  const wrong = await post('/v0/oauth/token', exchanged(first.code, verifierFor().verifier))
  t.match(wrong, { status: 400, body: { error: 'invalid_grant' } })
  const { code, verifier } = await codeFor(url)
  t.equal((await post('/v0/oauth/token', exchanged(code, verifier))).status, 200)
  t.match(await post('/v0/oauth/token', exchanged(code, verifier)), { status: 400, body: { error: 'invalid_grant' } })
  const noPkce = await browser(url).open(authorizeUrl(url))
  t.match(new URL(noPkce.url).searchParams.get('error'), 'invalid_request', 'without PKCE there is no code')
})

t.test('a client is limited to what it asked for', async t => {
  const { url, post, as } = await hostWithAdmin(t)
  const { code, verifier, consent } = await codeFor(url, { scope: 'openid sandboxes:list' })
  t.match(consent.text, /sandboxes:list/)
  t.notMatch(consent.text, /everything/)
  const { body } = await post('/v0/oauth/token', exchanged(code, verifier))
  t.equal(await as(body.access_token, '/sandboxes'), 200)
  t.equal(await as(body.access_token, '/jobs'), 403)
})

t.test('nobody is led elsewhere, nor answers for another', async t => {
  const { url } = await hostWithAdmin(t)
  const { challenge } = verifierFor()
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
  for (const redirect_uri of [
    'https://evil.example/',
    'http://127.0.0.1:7777/other',
    '//evil.example',
    'javascript:1',
  ]) {
    const seen = await browser(url).open(authorizeUrl(url, { ...pkce, redirect_uri }))
    t.equal(seen.status, 400, redirect_uri)
    t.ok(seen.url.startsWith(url), 'it stays here')
  }
  const victim = browser(url)
  const asked = await victim.open(authorizeUrl(url, pkce))
  const credentials = { do: 'sign-in', email: ada.email, password: ada.password }
  t.equal((await browser(url).open(asked.url, credentials)).status, 400, 'without the cookie of who began')
  const planted = new Map(victim.cookies)
  const cross = await victim.open(asked.url, credentials, { 'sec-fetch-site': 'cross-site' })
  t.equal(cross.status, 403, 'a form of another site')
  const consent = await victim.open(asked.url, credentials)
  const attacker = browser(url)
  for (const [name, value] of planted) attacker.cookies.set(name, value)
  const elsewhere = await attacker.open(authorizeUrl(url, pkce))
  t.match(elsewhere.text, /Sign in/, 'cookies from before the sign-in are not signed in')
  const denied = await victim.open(consent.url, { do: 'deny' })
  t.equal(new URL(denied.url).searchParams.get('error'), 'access_denied')
  for (const { headers } of [asked, consent]) {
    t.match(headers.get('content-security-policy'), /frame-ancestors 'none'/)
    t.equal(headers.get('cache-control'), 'no-store')
  }
})

t.test('no form of another site is taken, whatever it is for', async t => {
  const { url, link } = await hostWithAdmin(t)
  const good = await link()
  const { challenge } = verifierFor()
  const person = browser(url)
  const asked = await person.open(authorizeUrl(url, { code_challenge: challenge, code_challenge_method: 'S256' }))
  const bob = { email: 'bob@example.com', name: 'Bob', password: 'the password of bob' }
  for (const from of ['cross-site', 'same-site', 'none'])
    for (const [at, form] of [
      [good, bob],
      [`${url}/v0/oauth/device`, { user_code: 'AAAA-AAAA' }],
      [asked.url, { do: 'sign-in', email: ada.email, password: ada.password }],
      [asked.url, { do: 'deny' }],
      [asked.url, { do: 'elsewhere' }],
    ] as const)
      t.equal((await person.open(at, form, { 'sec-fetch-site': from })).status, 403, `${from} ${at}`)
  t.equal((await person.open(good, bob, { 'sec-fetch-site': 'same-origin' })).status, 200, 'its own is')
  for (const method of ['PUT', 'DELETE', 'PATCH'])
    t.ok((await fetch(asked.url, { method, headers: { cookie: 'x=1' } })).status >= 400, method)
})

t.test('cookies of sign-in are for HTTPS alone where the host is reached by it, and for its pages alone', async t => {
  const { host } = await hostWithNobody(t, { publicUrl: 'https://hutch.example.com' })
  const { port } = await host.listen()
  const { challenge } = verifierFor()
  const address = authorizeUrl(`http://127.0.0.1:${port}`, { code_challenge: challenge, code_challenge_method: 'S256' })
  const cookies = (await fetch(address, { redirect: 'manual' })).headers.getSetCookie()
  t.ok(cookies.length >= 2)
  for (const cookie of cookies) {
    t.match(cookie, /; secure/i)
    t.match(cookie, /; httponly/i)
    t.match(cookie, /; samesite=lax/i)
    t.match(cookie, /; path=\/v0\/oauth/i)
  }
})

t.test('wrong passwords are told as unknown people are, and not without end', async t => {
  const { url } = await hostWithAdmin(t)
  const { challenge } = verifierFor()
  const person = browser(url)
  const asked = await person.open(authorizeUrl(url, { code_challenge: challenge, code_challenge_method: 'S256' }))
  const tried = (email: string, password: string) => person.open(asked.url, { do: 'sign-in', email, password })
  const [known, unknown] = [await tried(ada.email, 'wrong'), await tried('eve@example.com', 'wrong')]
  t.equal(known.status, 401)
  t.match(known.text, /the address or the password is wrong/)
  t.equal(unknown.text.replace('eve@', 'ada@'), known.text)
  for (let count = 1; count < 10; count++) await tried(ada.email, 'wrong')
  const late = await tried(ada.email, ada.password)
  t.equal(late.status, 429)
  t.match(late.text, /too many attempts/)
})

t.test('a new password ends what browsers were signed in to, and nobody else’s', async t => {
  const { url, host, link } = await hostWithAdmin(t)
  const bob = { email: 'bob@example.com', name: 'Bob', password: 'the password of bob' }
  await browser(url).open(await link(), bob)
  const { challenge } = verifierFor()
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
  const [hers, his] = [browser(url), browser(url)]
  for (const [person, { email, password }] of [
    [hers, ada],
    [his, bob],
  ] as const) {
    const asked = await person.open(authorizeUrl(url, pkce))
    t.match((await person.open(asked.url, { do: 'sign-in', email, password })).text, 'Let it act for you?')
    t.match((await person.open(authorizeUrl(url, pkce))).text, 'Let it act for you?', 'the browser is signed in')
  }
  // Sessions know seconds.
  await new Promise(resolve => setTimeout(resolve, 1_100))
  const clock = systemClock()
  const operator = { store: host.store, clock, ids: randomIds(), members: { remove: async () => {} } }
  const address = await passwordLink(operator, ada.email)
  t.match((await hers.open(authorizeUrl(url, pkce))).text, 'Let it act for you?', 'a link alone ends nothing')
  t.equal((await browser(url).open(`${url}${address}`, { password: 'another one of ada' })).status, 200)
  t.match((await hers.open(authorizeUrl(url, pkce))).text, '<h1>Sign in</h1>')
  t.match((await his.open(authorizeUrl(url, pkce))).text, 'Let it act for you?')
})

t.test('the link of the first admin is good once, and not when there is another', async t => {
  const { url, link } = await hostWithAdmin(t)
  const first = await link()
  const second = await link()
  t.equal((await browser(url).open(first)).status, 404, 'it was issued anew')
  const short = await browser(url).open(second, { ...ada, email: 'bob@example.com', password: 'short' })
  t.equal(short.status, 400)
  t.match(short.text, /from 12 to 200/)
  t.equal((await browser(url).open(second, { ...ada, name: 'Other' })).status, 409, 'one address, one person')
  t.equal((await browser(url).open(second, { ...ada, email: 'bob@example.com' })).status, 200)
  t.equal((await browser(url).open(second, { ...ada, email: 'eve@example.com' })).status, 404)
})

t.test('a device shows a code; its client waits, and is let in', async t => {
  const { url, post, as } = await hostWithAdmin(t)
  const begun = await post('/v0/login/device', { client_id: 'svc', scope: 'offline_access' })
  t.match(begun, {
    status: 200,
    body: { device_code: /./, user_code: /./, expires_in: 600, verification_uri: `${url}/v0/oauth/device` },
  })
  const poll = () =>
    post('/v0/oauth/token', {
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      client_id: 'svc',
      device_code: begun.body.device_code,
    })
  t.match(await poll(), { status: 202, body: { error: 'authorization_pending' } })
  const person = browser(url)
  const shown = await person.open(begun.body.verification_uri_complete)
  t.match(shown.text, begun.body.user_code)
  t.match(shown.text, '<h1>Sign in on a device</h1>')
  const xsrf = /name="xsrf" value="([^"]+)"/.exec(shown.text)?.[1] ?? ''
  const code = { user_code: begun.body.user_code, confirm: 'yes' }
  const forged = await person.open(`${url}/v0/oauth/device`, { ...code, xsrf: 'other' })
  t.notMatch(forged.text, /Sign in<\/h1>/, 'a form that is not ours leads nowhere')
  const again = await person.open(begun.body.verification_uri_complete)
  const token = /name="xsrf" value="([^"]+)"/.exec(again.text)?.[1] ?? xsrf
  const asked = await person.open(`${url}/v0/oauth/device`, { ...code, xsrf: token })
  const consent = await person.open(asked.url, { do: 'sign-in', email: ada.email, password: ada.password })
  t.match(consent.text, /the program that showed the code/)
  t.match((await person.open(consent.url, { do: 'allow' })).text, /signed in/)
  const tokens = await poll()
  t.match(tokens, { status: 200, body: { access_token: /^eyJ/, refresh_token: /./ } })
  t.equal(await as(tokens.body.access_token, '/sandboxes'), 200)
})

t.test('a client registers itself, and its secret is kept as a hash', async t => {
  const { url, post } = await hostWithAdmin(t)
  const made = await post('/v0/oauth/register', {
    client_name: 'inspector',
    redirect_uris: ['http://localhost:6274/callback'],
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
  })
  t.match(made, { status: 201, body: { client_id: /./ } })
  const { challenge } = verifierFor()
  const asked = await browser(url).open(
    authorizeUrl(url, {
      client_id: made.body.client_id,
      redirect_uri: 'http://localhost:6274/callback',
      code_challenge: challenge,
      code_challenge_method: 'S256',
    }),
  )
  t.match(asked.text, /Sign in/)
  t.match(await post('/v0/oauth/register', { redirect_uris: 'x' }), {
    status: 400,
    body: { error: /^invalid/, code: 400 },
  })
})

t.test('a refresh token that is revoked takes along what was given for it', async t => {
  const { url, post, as, api } = await hostWithAdmin(t)
  const { code, verifier } = await codeFor(url)
  const { body } = await post('/v0/oauth/token', exchanged(code, verifier))
  t.equal(await as(body.access_token, '/sandboxes'), 200)
  const again = { grant_type: 'refresh_token', refresh_token: body.refresh_token }
  t.equal((await post('/v0/oauth/token', again)).status, 200)
  t.equal((await post('/v0/oauth/token', again)).status, 200, 'several programs share it')
  const form = new URLSearchParams({ token: body.refresh_token, client_id: 'svc' })
  t.equal((await fetch(`${url}/v0/oauth/revoke`, { method: 'POST', body: form })).status, 200)
  t.equal(await as(body.access_token, '/sandboxes'), 401)
  t.equal((await post('/v0/oauth/token', again)).status, 400)
  const { data } = (await api('GET', '/audit?everyWorkspace=true&action=disallow')).body
  t.match(data, [{ kind: 'person', name: ada.email, remote: /127\.0\.0\.1/, detail: { client: /svc/ } }])
})

t.test('whoever has no session at the page of devices is told so, and nothing is kept or printed', async t => {
  const { url, host } = await hostWithAdmin(t)
  const printed = t.capture(console, 'error')
  const form = { user_code: 'AAAA-AAAA', xsrf: 'x', confirm: 'yes' }
  for (const cookie of ['', '_session=x', '_interaction=x; _interaction.sig=y']) {
    const headers = { cookie }
    for (const answer of [
      await fetch(`${url}/v0/oauth/device`, { method: 'POST', body: new URLSearchParams(form), headers }),
      await fetch(`${url}/v0/oauth/device/none`, { headers }),
    ]) {
      t.equal(answer.status, 400)
      t.match(await answer.text(), /begun elsewhere; begin again/)
    }
  }
  t.equal(await host.store.identity.countOAuthRecords('Session'), 0)
  t.same(printed(), [])
})

t.test('codes of devices are not guessed at without end', async t => {
  const { url } = await hostWithAdmin(t)
  const person = browser(url)
  let shown = await person.open(`${url}/v0/oauth/device`)
  let tries = 0
  for (; shown.status === 200 && tries < 400; tries++) {
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(shown.text)?.[1] ?? ''
    shown = await person.open(`${url}/v0/oauth/device`, { xsrf, user_code: 'BBBB-BBBB' })
    if (tries === 0) t.match(shown.text, /not one, or its time is over/)
  }
  t.equal(shown.status, 429)
  t.ok(tries > 200 && tries <= 300, `after ${tries}`)
})

t.test('links that are none are not tried without end from one place; good ones do not count', async t => {
  const { url, link } = await hostWithAdmin(t, { trustedProxies: ['127.0.0.1'] })
  const good = await link()
  const from = (place: string, at: string) => fetch(at, { headers: { 'x-forwarded-for': place } })
  const guessed = `${url}/v0/oauth/join?token=guessed`
  for (let count = 0; count < 50; count++) {
    t.equal((await from('1.2.3.4', good)).status, 200)
    const form = { method: 'POST', body: new URLSearchParams(ada), headers: { 'x-forwarded-for': '1.2.3.4' } }
    t.equal((await (count % 2 ? fetch(guessed, form) : from('1.2.3.4', guessed))).status, 404)
  }
  const late = await from('1.2.3.4', good)
  t.match(late, { status: 429 })
  t.match(late.headers.get('retry-after'), /^\d+$/)
  t.equal((await from('1.2.3.5', good)).status, 200, 'from elsewhere it is good')
})

t.test('strangers make the host fetch nothing, decide no address and break nothing', async t => {
  const { url, post } = await hostWithAdmin(t)
  const fetching = { redirect_uris: ['https://a.test/cb'], sector_identifier_uri: 'https://127.0.0.1:9/x' }
  t.match(await post('/v0/oauth/register', fetching), { status: 400, body: { code: 400 } })
  const keys = { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://127.0.0.1:9/k' }
  t.match(await post('/v0/oauth/register', { redirect_uris: ['https://a.test/cb'], ...keys }), { status: 400 })
  const odd = { grant_type: 'client_credentials', client_id: '\ud800', client_secret: 'x' }
  t.match(await post('/v0/oauth/token', odd), { status: 400, body: { error: /^invalid_/ } })
  for (const name of ['evil.test', 'a b%']) {
    const headers = { 'x-forwarded-host': name }
    const found = await fetch(`${url}/v0/.well-known/openid-configuration`, { headers })
    t.match(await found.json(), { issuer: `${url}/v0`, authorization_endpoint: `${url}/v0/oauth/authorize` })
  }
})

/** How clients of the contract go about it, one by one: what each sends, and what it reads of the answer. */
import * as client from 'openid-client'
import t from 'tap'
import {
  ada,
  authorizeUrl,
  back,
  browser,
  claimsOf,
  exchanged,
  hostWithAdmin,
  verifierFor,
} from '../../../../support/sign-in.ts'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

type Host = Awaited<ReturnType<typeof hostWithAdmin>>

/** A person says yes, or something else, to the device that shows a code. */
const answerDevice = async ({ url }: Host, at: string, answer: 'allow' | 'deny') => {
  const person = browser(url)
  const shown = await person.open(at)
  const field = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(shown.text)?.[1] ?? ''
  const confirmed = { xsrf: field('xsrf'), user_code: field('user_code'), confirm: 'yes' }
  const asked = await person.open(`${url}/v0/oauth/device`, confirmed)
  const consent = await person.open(asked.url, { do: 'sign-in', email: ada.email, password: ada.password })
  return person.open(consent.url, { do: answer })
}

t.test('a command line signs in on a device, polls as often as it likes, and renews as each language does', async t => {
  const made = await hostWithAdmin(t)
  const { url, post } = made
  const token = (body: object, headers = {}) => post('/v0/oauth/token', body, headers)
  const begin = async () => (await post('/v0/login/device', { client_id: 'svc', scope: 'offline_access' })).body
  const begun = await begin()
  t.match(begun, { verification_uri_complete: /user_code=/, interval: Number, expires_in: Number })
  const poll = (device_code: string, grant_type = deviceGrant) => token({ grant_type, client_id: 'svc', device_code })
  const waiting = await Promise.all([1, 2, 3, 4].map(() => poll(begun.device_code)))
  for (const { status, body } of waiting)
    t.match({ status, body }, { status: 202, body: { error: 'authorization_pending' } })
  await answerDevice(made, begun.verification_uri_complete, 'allow')
  const { status, body: tokens } = await poll(begun.device_code)
  t.match({ status, tokens }, { status: 200, tokens: { token_type: 'Bearer', expires_in: 7_200, refresh_token: /./ } })
  const { iat, exp, sub, sub_type: type } = claimsOf(tokens.access_token)
  t.match({ lasts: Number(exp) - Number(iat), sub, type }, { lasts: 7_200, sub: /./, type: 'user' })
  t.match(await poll('nothing'), { status: 400, body: { error: 'invalid_grant' } })

  const renewing = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }
  const old = `Bearer ${tokens.access_token}`
  for (const [who, more, headers] of [
    ['TypeScript', { device_code: begun.device_code }, {}],
    ['Go', { client_id: 'svc', device_code: begun.device_code }, {}],
    ['one that goes on sending what it had', {}, { authorization: old, 'x-svc-authorization': old }],
    ['one with an empty client', { client_id: 'svc', client_secret: '' }, {}],
  ] as const) {
    const renewed = await token({ ...renewing, ...more }, headers)
    t.match(renewed, { status: 200, body: { access_token: /^eyJ/, expires_in: 7_200 } }, who)
    for (const header of ['authorization', 'x-svc-authorization']) {
      const bearer = { [header]: `Bearer ${renewed.body.access_token}` }
      const answer = await fetch(`${url}/v0/workspaces`, { headers: bearer })
      t.match(await answer.json(), [{ name: 'default' }], `${who} finds its workspaces with ${header}`)
      t.equal((await fetch(`${url}/v0/workspaces/default`, { headers: bearer })).status, 200)
    }
  }
  const form = await fetch(`${url}/v0/oauth/token`, { method: 'POST', body: new URLSearchParams(renewing) })
  t.match({ status: form.status, type: form.headers.get('content-type') }, { status: 200, type: /^application\/json/ })
  for (const wrong of [{ client_id: 'other' }, { client_id: 'svc', client_secret: 'guessed' }])
    t.match(await token({ ...renewing, ...wrong }), { status: 400, body: { error: /^invalid_/ } })

  const again = await poll(begun.device_code)
  t.match(again, { status: 400, body: { error: 'invalid_grant' } }, 'a code is good once')
  t.equal((await token(renewing)).status, 400, 'whoever uses it twice has it from somewhere: what it gave is over')

  const second = await begin()
  await answerDevice(made, second.verification_uri_complete, 'deny')
  t.match(await poll(second.device_code), { status: 400, body: { error: 'access_denied' } })
})

t.test(
  'an MCP client finds its way from the refusal alone, registers itself, and names what it wants to reach',
  async t => {
    const { url, post, as } = await hostWithAdmin(t)
    const call = (token = '') =>
      fetch(`${url}/v0/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(token ? { authorization: `Bearer ${token}` } : {}),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      })
    const refused = await call()
    t.equal(refused.status, 401)
    const at = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] ?? ''
    const { resource, authorization_servers: servers } = (await (await fetch(at)).json()) as Record<string, unknown>
    t.equal(resource, `${url}/v0/mcp`, 'what is protected is what was asked for')
    const [server] = servers as [string]
    const found = (await (await fetch(`${server}/.well-known/oauth-authorization-server`)).json()) as Record<
      string,
      string
    >
    t.match(found, {
      code_challenge_methods_supported: ['S256'],
      device_authorization_endpoint: `${url}/v0/login/device`,
    })
    const registered = await fetch(found['registration_endpoint'] ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        client_name: 'An assistant',
        redirect_uris: [back],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        scope: 'openid email profile offline_access',
      }),
    })
    t.equal(registered.status, 201)
    const { client_id } = (await registered.json()) as { client_id: string }
    const lesser = await post('/v0/oauth/register', { redirect_uris: [back], scope: 'openid jobs:list' })
    t.match(lesser, { status: 201, body: { scope: 'openid jobs:list' } }, 'who registers less has less')
    const asked = { client_id: lesser.body.client_id, code_challenge: 'x'.repeat(43), code_challenge_method: 'S256' }
    const lone = browser(url)
    const door = await lone.open(authorizeUrl(url, { ...asked, scope: 'openid' }))
    const consent = await lone.open(door.url, { do: 'sign-in', email: ada.email, password: ada.password })
    t.match(consent.text, /<li><code>jobs:list<\/code>/, 'and asks for that when it names nothing')
    t.notMatch(consent.text, /everything/)
    const begin = (resources: readonly string[], scope = 'openid email profile offline_access') => {
      const { verifier, challenge } = verifierFor()
      const more = { client_id, scope, code_challenge: challenge, code_challenge_method: 'S256' }
      const address = new URL(authorizeUrl(url, more))
      for (const one of resources) address.searchParams.append('resource', one)
      return { verifier, address: address.href }
    }
    for (const named of [[`${url}/v0/mcp`], [`${url}/v0`], [`${url}/v0/`], [url, `${url}/v0/mcp`], []]) {
      const { verifier, address } = begin(named)
      const person = browser(url)
      const asked = await person.open(address)
      const consent = await person.open(asked.url, { do: 'sign-in', email: ada.email, password: ada.password })
      t.match(consent.text, /An assistant/)
      const done = new URL((await person.open(consent.url, { do: 'allow' })).url)
      const code = done.searchParams.get('code') ?? ''
      const [first] = named
      const given = { ...exchanged(code, verifier), client_id, ...(first ? { resource: first } : {}) }
      const { status, body } = await post('/v0/oauth/token', given)
      t.equal(status, 200, `for ${named.join(' and ')}`)
      t.equal(claimsOf(body.access_token).aud, `${url}/v0`)
      t.equal((await call(body.access_token)).status, 200)
      t.equal(await as(body.access_token, '/sandboxes'), 200)
      const renewed = await post('/v0/oauth/token', {
        grant_type: 'refresh_token',
        refresh_token: body.refresh_token,
        client_id,
        ...(first ? { resource: first } : {}),
      })
      t.equal(renewed.status, 200, 'and it is renewed for it')
      const elsewhere = { grant_type: 'refresh_token', refresh_token: body.refresh_token, client_id }
      t.match(await post('/v0/oauth/token', { ...elsewhere, resource: 'https://other.example/' }), {
        status: 400,
        body: { error: 'invalid_target' },
      })
    }
    for (const named of [
      ['https://other.example/'],
      [`${url}/v0`, 'https://other.example/'],
      [`${url}/v1`],
      ['x'],
      [`${url}/v0/mcp#a`],
    ]) {
      const { href } = new URL((await browser(url).open(begin(named).address)).url)
      t.equal(new URL(href).searchParams.get('error'), 'invalid_target', `nobody is asked about ${named.join(' and ')}`)
    }
  },
)

t.test('discovery is found in every place where clients look for it', async t => {
  const { url } = await hostWithAdmin(t)
  const read = async (path: string) => (await (await fetch(`${url}${path}`)).json()) as Record<string, unknown>
  for (const name of ['openid-configuration', 'oauth-authorization-server'])
    for (const path of [`/v0/.well-known/${name}`, `/.well-known/${name}/v0`, `/.well-known/${name}`])
      t.equal((await read(path))['issuer'], `${url}/v0`, path)
  const name = '.well-known/oauth-protected-resource'
  for (const [path, resource] of [
    [`/v0/${name}`, '/v0'],
    [`/${name}/v0`, '/v0'],
    [`/${name}`, '/v0'],
    [`/v0/${name}/mcp`, '/v0/mcp'],
    [`/${name}/v0/mcp`, '/v0/mcp'],
  ] as const)
    t.equal((await read(path))['resource'], `${url}${resource}`, path)
  for (const algorithm of ['oidc', 'oauth2'] as const) {
    const options = { algorithm, execute: [client.allowInsecureRequests] }
    const found = await client.discovery(new URL(`${url}/v0`), 'svc', {}, client.None(), options)
    const { token_endpoint: token, device_authorization_endpoint: device } = found.serverMetadata()
    t.same([token, device], [`${url}/v0/oauth/token`, `${url}/v0/login/device`], algorithm)
    const begun = await client.initiateDeviceAuthorization(found, { scope: 'offline_access' })
    t.match(begun, { user_code: /./, interval: 5 }, 'and a strict client goes on with it')
  }
})

/** Those of the contract, and those that its operations need without declaring them. */
const scopes = `admin
agents:create agents:delete agents:get agents:list agents:update applications:create applications:delete applications:get
applications:list applications:update customdomains:create customdomains:delete customdomains:get customdomains:list
customdomains:update functions:create functions:delete functions:get functions:list functions:update jobs:create jobs:delete
jobs:get jobs:list jobs:update models:create models:delete models:get models:list models:update policies:create policies:delete
policies:get policies:list policies:update sandboxes:create sandboxes:delete sandboxes:get sandboxes:list sandboxes:update
sandboxes:control apiKey:list apiKey:write configurations:list invitations:list locations:list mcphub:list sandboxhub:list
integrations:create integrations:list templates:get templates:list volumeTemplates:create volumeTemplates:delete
volumeTemplates:get volumeTemplates:list volumeTemplates:upsert volumes:create volumes:delete volumes:get volumes:list
workspaces:accept workspaces:create workspaces:decline workspaces:delete workspaces:get workspaces:invite workspaces:leave
workspaces:list workspaces:remove workspaces:update
drives:list drives:create drives:get drives:delete egressgateways:list egressips:list featureFlags:list featureFlags:get
images:list images:get images:create images:delete images:share integrations:get integrations:update integrations:delete
volumes:update`.split(/\s+/)

t.test('every scope of the contract is offered and granted, declared by an operation or not', async t => {
  const { url, api, post } = await hostWithAdmin(t)
  const found = await fetch(`${url}/v0/.well-known/openid-configuration`)
  const { scopes_supported: offered } = (await found.json()) as { scopes_supported: string[] }
  t.same(
    scopes.filter(scope => !offered.includes(scope)),
    [],
  )
  const { client_id, client_secret } = (await api('POST', '/service_accounts?workspace=default', { name: 'ci' })).body
  const asked = { grant_type: 'client_credentials', client_id, client_secret }
  for (const scope of [...scopes, scopes.join(' ')]) {
    const { status, body } = await post('/v0/oauth/token', { ...asked, scope })
    t.match({ status, granted: body.scope }, { status: 200, granted: scope })
  }
})

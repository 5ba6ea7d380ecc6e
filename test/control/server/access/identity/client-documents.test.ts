/** Clients that are named by an address, and what strangers cannot make the host fetch. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { documentFetch } from '../../../../../control/server/access/identity/provider/client-document.ts'
import { createDocuments } from '../../../../../control/server/access/identity/provider/documents.ts'
import { testAuthority } from '../../../../support/certificates.ts'
import { fakeClock } from '../../../../support/clock.ts'
import { ada, authorizeUrl, browser, exchanged, hostWithAdmin, verifierFor } from '../../../../support/sign-in.ts'

const serving = async (t: Parameters<typeof hostWithAdmin>[0]) => {
  const dir = t.testdir()
  const authority = testAuthority(dir)
  const { cert, key } = authority.sign(join(dir, 'site'), ['localhost'])
  const asked: string[] = []
  const answers: Record<string, (url: string) => { status?: number; headers?: Record<string, string>; body: string }> =
    {}
  const server = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (request, response) => {
    asked.push(request.url ?? '')
    const {
      status = 200,
      headers = {},
      body,
    } = answers[request.url ?? '']?.(origin + request.url) ?? {
      status: 404,
      body: '',
    }
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(body)
  }).listen(0, 'localhost')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const origin = `https://localhost:${(server.address() as AddressInfo).port}`
  return { origin, asked, answers, caFile: join(dir, 'ca.pem'), ca: authority.ca }
}

const redirect = 'http://127.0.0.1:7777/callback'

const described = (id: string, more: object = {}) =>
  JSON.stringify({
    client_id: id,
    client_name: 'Inspector',
    redirect_uris: [redirect],
    grant_types: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_method: 'none',
    scope: 'openid email profile offline_access',
    ...more,
  })

t.test('a client is described by the document at its address', async t => {
  const site = await serving(t)
  site.answers['/client.json'] = id => ({ body: described(id) })
  const made = await hostWithAdmin(t, { clientHosts: ['localhost'], caFile: site.caFile })
  const { url, post, as } = made
  const client_id = `${site.origin}/client.json`
  const { verifier, challenge } = verifierFor()
  const person = browser(url)
  const pkce = { code_challenge: challenge, code_challenge_method: 'S256' }
  const asked = await person.open(authorizeUrl(url, { client_id, redirect_uri: redirect, ...pkce }))
  const consent = await person.open(asked.url, { do: 'sign-in', email: ada.email, password: ada.password })
  t.match(consent.text, `Inspector (${new URL(site.origin).host})`, 'its host says who it is')
  const done = await person.open(consent.url, { do: 'allow' })
  const code = new URL(done.url).searchParams.get('code') ?? ''
  const tokens = await post('/v0/oauth/token', { ...exchanged(code, verifier), client_id, redirect_uri: redirect })
  t.equal(tokens.status, 200)
  t.equal(await as(tokens.body.access_token, '/sandboxes'), 200)
  t.same(site.asked, ['/client.json'], 'it is asked once')
  const found = await fetch(`${url}/v0/.well-known/oauth-authorization-server`)
  t.match(await found.json(), { client_id_metadata_document_supported: true })
})

t.test('a document that is not of its address, or too much, describes nobody', async t => {
  const site = await serving(t)
  const { answers, origin } = site
  const { url, post } = await hostWithAdmin(t, { clientHosts: ['localhost'], caFile: site.caFile })
  answers['/other.json'] = () => ({ body: described(`${origin}/client.json`) })
  answers['/secret.json'] = id => ({ body: described(id, { client_secret: 'x' }) })
  answers['/keys.json'] = id => ({
    body: described(id, { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: `${origin}/jwks` }),
  })
  answers['/away.json'] = () => ({ status: 302, headers: { location: `${origin}/client.json` }, body: '' })
  answers['/long.json'] = id => ({ body: described(id, { padding: 'x'.repeat(100_000) }) })
  for (const path of Object.keys(answers)) {
    const client_id = `${origin}${path}`
    const pkce = { code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' }
    const seen = await browser(url).open(authorizeUrl(url, { client_id, redirect_uri: redirect, ...pkce }))
    t.equal(seen.status, 400, path)
    const answer = await post('/v0/oauth/token', { ...exchanged('x', 'y'), client_id, redirect_uri: redirect })
    t.equal(answer.status, 400, `${path} at the token endpoint`)
  }
  t.notOk(site.asked.includes('/jwks'), 'no further address is asked')
})

t.test('strangers reach nothing of this network by it, and not without end', async t => {
  const site = await serving(t)
  site.answers['/client.json'] = id => ({ body: described(id) })
  const get = documentFetch({ hosts: [], ca: site.ca })
  const { port } = new URL(site.origin)
  for (const address of [
    `https://localhost:${port}/client.json`,
    'https://localhost/client.json',
    'https://127.0.0.1/client.json',
    'https://169.254.169.254/latest',
    'https://[::1]/client.json',
    'https://[::ffff:127.0.0.1]/x',
    'https://[fd00::1]/x',
    'https://10.0.0.1/x',
    'http://example.com/x',
  ])
    await t.rejects(get(address), /not public|not https|port of https/, address)
  t.same(site.asked, [])
  const clock = fakeClock()
  const documents = createDocuments({ hosts: [], ca: '' }, clock)
  await t.rejects(documents.get('https://a.test/x'), /only documents/, 'what the library asks besides')
  const from = (remoteAddress: string) =>
    documents.allow({ req: { socket: { remoteAddress } } } as never, 'https://a.test/x')
  const tried = Array.from({ length: 40 }, () => from('1.2.3.4'))
  t.equal(tried.filter(Boolean).length, 30)
  t.equal(from('1.2.3.5'), true, 'others may go on')
  const asked = async () => documents.get('https://a.test/x').catch(({ message }: Error) => message)
  t.notMatch(await Promise.all([asked(), asked()]), [/only documents/, /only documents/], 'two sign in at once')
  await clock.tick(30_001)
  t.match(await asked(), /only documents/, 'allowed for the moment only')
})

/** Previews as they are served: by host name and by path, public and private, and what never reaches an application. */
import { once } from 'node:events'
import t from 'tap'
import WebSocket from 'ws'
import { previewHost as ready } from '../../support/previews.ts'

t.test('a public preview is served by name and by path, with headers of its own', async t => {
  const s = await ready(t)
  const { get, preview, local } = s
  const { answer, path, host } = await preview('app', {
    requestHeaders: { 'X-From': 'preview', Cookie: 'forged=1' },
    responseHeaders: {
      'X-Frame-Options': 'ALLOW',
      'Access-Control-Allow-Origin': 'https://a.example',
      'Clear-Site-Data': '"cookies"',
    },
  })
  t.match(answer, { status: 'DEPLOYED', spec: { region: 'local' } })
  const named = await get(host, '/v0/sandboxes?a=1', {
    cookie: 'mine=2',
    'x-from': 'client',
    'x-svc-authorization': `Bearer ${s.host.first.adminKey}`,
    authorization: `Bearer ${s.host.first.adminKey}`,
    'x-svc-subject-id': 'somebody',
    'x-svc-preview-token': 'x',
  })
  t.match(named, { status: 200, body: { url: '/v0/sandboxes?a=1', headers: { host, 'x-from': 'preview' } } })
  t.match(named.headers, {
    'x-frame-options': 'ALLOW',
    'access-control-allow-origin': 'https://a.example',
    'set-cookie': ['app=1'],
  })
  t.match(named.headers, { 'clear-site-data': '"cookies"' }, 'at an origin of its own')
  for (const name of ['authorization', 'x-svc-authorization', 'x-svc-subject-id', 'x-svc-preview-token'])
    t.notOk(named.body.headers[name], 'not for an application')
  t.notMatch(named.headers, { 'content-security-policy': /sandbox/ }, 'an origin of its own')

  const shared = await get(local, `${path}/a/b?c`, { cookie: 'of=api' })
  t.match(shared, {
    status: 200,
    body: { url: '/a/b?c' },
    headers: { 'content-security-policy': /^sandbox allow-scripts/ },
  })
  t.notOk(shared.headers['set-cookie'], 'the origin of the API keeps its cookies')
  t.notOk(shared.headers['clear-site-data'])
  const own = await get(host, '/', { authorization: 'Bearer of-the-application' })
  t.equal(own.body.headers.authorization, 'Bearer of-the-application', 'what is no key of ours passes')
  t.notMatch(shared.body.headers.cookie, /of=api/)
  t.equal((await get(local, path)).body.url, '/')
  t.equal((await get(local, `${path}?x=1`)).body.url, '/?x=1')
  t.equal((await get(local, path.replace('/default/', '/other/'))).status, 404, 'of another workspace')

  const asked = { 'access-control-request-method': 'PUT', origin: 'https://a.example' }
  const preflight = await get(host, '/', asked, 'OPTIONS')
  t.match(preflight, { status: 204, text: '', headers: { 'access-control-allow-origin': 'https://a.example' } })

  const prefixed = await preview('shop', { prefixUrl: 'my-shop' })
  t.equal((await get(`my-shop-default.preview.localhost:${s.port}`, '/x')).body.url, '/x')
  t.equal((await get(`other-default.preview.localhost:${s.port}`, '/x')).status, 404)
  await s.api('DELETE', '/sandboxes/web/previews/app')
  const gone = await get(host, '/')
  t.match(gone, { status: 404, body: { error: { code: 'ROUTE_NOT_FOUND' } } })
  t.equal((await preview('app')).address, answer.spec.url, 'made again it has its address')
  t.not(prefixed.address, answer.spec.url)
})

t.test('a private preview opens to its own tokens, while they hold', async t => {
  const s = await ready(t)
  const { get, preview, token, local } = s
  const { host, path } = await preview('app', { public: false })
  await preview('other', { public: false })
  const [mine, late, theirs] = [
    await token('app'),
    await token('app', { expiresAt: '2020-01-01T00:00:00Z' }),
    await token('other'),
  ]
  const by = (given: string) => ({ 'x-svc-preview-token': given })
  for (const headers of [{}, by('wrong'), by(late), by(theirs), { authorization: `Bearer ${s.host.first.adminKey}` }])
    t.match(await get(host, '/', headers), { status: 401, body: { error: { status: 401 } } })
  t.equal((await get(host, '/', by(mine))).status, 200)
  t.equal((await get(local, `${path}/`, by(mine))).status, 200)

  const opened = await get(host, `/a?b=%20c&svc_preview_token=${mine}&d`, { cookie: 'x=1' })
  t.match(opened, { status: 200, body: { url: '/a?b=%20c&d', headers: { cookie: 'x=1' } } })
  t.notMatch(opened.text, mine)
  const [, cookie] = opened.headers['set-cookie'] as string[]
  t.match(cookie, /^svc_preview_token=[\w-]+; Path=\/; HttpOnly; SameSite=Lax$/)
  const [pair = ''] = (cookie as string).split(';')
  const followed = await get(host, '/b', { cookie: `a=1; ${pair}; b=2` })
  t.match(followed, { status: 200, body: { headers: { cookie: 'a=1; b=2' } } })
  const shared = await get(local, `${path}/?svc_preview_token=${mine}`)
  t.equal(shared.status, 200)
  t.notHas(shared.headers, 'set-cookie')
  t.equal((await get(local, `${path}/`, { cookie: pair })).status, 401, 'cookies of the API open nothing')

  await s.api('DELETE', `/sandboxes/web/previews/app/tokens/${mine}`)
  t.equal((await get(host, '/', by(mine))).status, 401, 'at once')
  t.equal((await get(host, '/', { cookie: pair })).status, 401)
  const page = await get(host, '/', { accept: 'text/html' })
  t.match(page, { status: 401, headers: { 'content-type': /^text\/html/ }, text: /This preview is private/ })

  const ending = await preview('ending', { expires: '2020-01-01T00:00:00Z' })
  t.equal((await get(ending.host, '/')).status, 404, 'its time is over')
})

t.test('sockets, ports where nothing is, and the API of the sandbox', async t => {
  const s = await ready(t)
  const { get, preview, token } = s
  const { host, path } = await preview('live', { public: false })
  const mine = await token('live')
  const socket = new WebSocket(`ws://127.0.0.1:${s.port}/hot?svc_preview_token=${mine}`, {
    headers: { host, 'x-svc-authorization': 'Bearer x' },
  })
  const [said] = await once(socket, 'message')
  const seen = JSON.parse(String(said))
  t.match(seen, { url: '/hot', headers: { host } })
  t.notHas(seen.headers, 'x-svc-authorization')
  socket.terminate()
  const refused = new WebSocket(`ws://127.0.0.1:${s.port}${path}/hot`)
  const [, answer] = await once(refused, 'unexpected-response')
  t.equal(answer.statusCode, 401)
  refused.on('error', () => {})
  refused.terminate()

  const nothing = await preview('nothing', { port: 1 })
  t.match(await get(nothing.host, '/'), { status: 502, body: { error: { code: 'UPSTREAM_FAILED' } } })
  t.match(await get(nothing.host, '/<b>', { accept: 'text/html' }), {
    status: 502,
    headers: { 'content-security-policy': /default-src 'none'/ },
    text: /Nothing listens on the port/,
  })
  const [{ server }] = [...s.world.machines.values()] as unknown as [{ server: { port: number } }]
  for (const port of [443, server.port]) {
    const open = await preview(`open-${port}`, { port })
    t.match(await get(open.host, '/health'), { status: 403 }, 'never to everybody')
    const closed = await preview(`closed-${port}`, { port, public: false })
    const headers = { 'x-svc-preview-token': await token(`closed-${port}`) }
    t.match(await get(closed.host, '/health', headers), { status: 403 }, 'nor where the daemon cannot tell who asks')
  }
})

t.test("the cookie goes out under the name of a vendor's profile, too, and comes in under any", async t => {
  const acme = { header: 'Acme', short: 'ac', image: 'ac', previewToken: 'ac-preview', cookie: 'acme_login' }
  const { get, preview, token } = await ready(t, {
    config: { wireNames: [{ header: 'Svc', short: 'svc', image: 'svc' }, acme] },
  })
  const { host } = await preview('app', { public: false })
  const mine = await token('app')
  const opened = await get(host, `/?ac-preview=${mine}`)
  t.match(opened, { status: 200, body: { url: '/' } })
  const cookies = (opened.headers['set-cookie'] as string[]).slice(1).map(cookie => cookie.replace(/;.*/, ''))
  t.same(cookies, [`svc_preview_token=${mine}`, `acme_login=${mine}`])
  for (const cookie of cookies) {
    const followed = await get(host, '/', { cookie: `a=1; ${cookie}` })
    t.match(followed, { status: 200, body: { headers: { cookie: 'a=1' } } }, cookie)
  }
  t.equal((await get(host, '/', { cookie: `ac_session=${mine}` })).status, 401)
})

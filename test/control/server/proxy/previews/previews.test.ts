/** Previews as they are served: by host name and by path, public and private, and what never reaches an application. */
import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import t from 'tap'
import WebSocket from 'ws'
import { systemClock, type Clock } from '../../../../../shared/clock.ts'
import { previewHost as ready } from '../../../../support/previews.ts'
import { until } from '../../../../support/until.ts'

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
  t.match(named, {
    status: 200,
    body: { url: '/v0/sandboxes?a=1', headers: { host: `localhost:${s.appPort}`, 'x-from': 'preview' } },
  })
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

  const dev = await preview('dev', { requestHeaders: { Host: 'localhost:5173' } })
  t.match((await get(dev.host, '/', { origin: 'http://a.example' })).body.headers, {
    host: 'localhost:5173',
    origin: 'http://a.example',
    'x-forwarded-host': dev.host,
    'x-forwarded-proto': 'http',
  })

  const prefixed = await preview('shop', { prefixUrl: 'my-shop' })
  t.equal((await get(`my-shop-default.preview.localhost:${s.port}`, '/x')).body.url, '/x')
  t.equal((await get(`other-default.preview.localhost:${s.port}`, '/x')).status, 404)
  await s.api('DELETE', '/sandboxes/web/previews/app')
  const gone = await get(host, '/')
  t.match(gone, { status: 404, body: { error: { code: 'ROUTE_NOT_FOUND' } } })
  t.equal((await preview('app')).address, answer.spec.url, 'made again it has its address')
  t.not(prefixed.address, answer.spec.url)
})

t.test('an application is asked as localhost, and what it says of that is said of the preview', async t => {
  const s = await ready(t)
  const { get, preview, local, appPort } = s
  const { host, path } = await preview('app')
  const [own, inside] = [`http://${host}`, `localhost:${appPort}`]
  const from = { origin: own, referer: `${own}/a?secret=1`, 'x-forwarded-host': 'forged', 'x-forwarded-proto': 'https' }
  const { headers } = (await get(host, '/', from)).body
  t.match(headers, { host: inside, origin: `http://${inside}`, referer: `http://${inside}/a` })
  for (const name of ['x-forwarded-host', 'x-forwarded-proto']) t.notOk(Object.hasOwn(headers, name), name)
  t.match(headers['x-forwarded-for'], /127\.0\.0\.1$/)
  const stranger = { origin: 'https://evil.example', referer: 'https://evil.example/x' }
  t.match((await get(host, '/', stranger)).body.headers, stranger, 'another origin stays what it is')
  t.match((await get(host, '/', { origin: 'null' })).body.headers, { origin: 'null' })
  t.equal((await get(local, `${path}/`)).body.headers.host, inside)

  const leads = async (at: string, to: string, name = 'location') =>
    (
      await get(at === local ? local : host, `${at === local ? path : ''}/says?${name}=${encodeURIComponent(to)}`, {
        origin: own,
      })
    ).headers[name]
  t.equal(await leads(host, `http://${inside}/login?a=1#b`), '/login?a=1#b')
  t.equal(await leads(host, `https://${inside}`), '/')
  t.equal(await leads(host, `http://${inside}//evil.example/a`), '/.//evil.example/a', 'no other host')
  t.equal(await leads(host, `http://${inside}/\\evil.example`), '/./\\evil.example')
  t.equal(await leads(local, `http://${inside}/login`), `${path}/login`)
  t.equal(await leads(host, 'http://localhost:1/login'), 'http://localhost:1/login', 'another port is another server')
  t.equal(await leads(host, 'https://a.example/'), 'https://a.example/')
  t.equal(await leads(host, `http://${inside}`, 'access-control-allow-origin'), own)
  t.same(await leads(host, 'a=1; Path=/; Domain=localhost; HttpOnly', 'set-cookie'), ['a=1; Path=/; HttpOnly'])

  const socket = new WebSocket(`ws://127.0.0.1:${s.port}/hot`, { headers: { host, origin: own } })
  const seen = JSON.parse(String((await once(socket, 'message'))[0]))
  t.match(seen.headers, { host: inside, origin: `http://${inside}` })
  socket.terminate()

  const kept = await preview('kept', { hostHeader: 'preview' })
  const asItIs = (await get(kept.host, '/', { origin: `http://${kept.host}` })).body.headers
  const said = {
    host: kept.host,
    origin: `http://${kept.host}`,
    'x-forwarded-host': kept.host,
    'x-forwarded-proto': 'http',
  }
  t.match(asItIs, said, 'a preview may keep its own')
  const wrong = { metadata: { name: 'w' }, spec: { port: 3000, hostHeader: 'x' } }
  t.match(await s.api('POST', '/sandboxes/web/previews', wrong), { status: 400, body: { message: /spec\.hostHeader/ } })
})

t.test('a person who comes while the sandbox starts is told so; a program waits', async t => {
  const started = Promise.withResolvers<void>()
  let isHeld = false
  const s = await ready(t, { faults: point => (isHeld && point === 'create.half' ? started.promise : undefined) })
  const { host } = await s.preview('app')
  t.equal((await s.get(host, '/', { accept: 'text/html' })).status, 200, 'who need not wait sees the application')
  isHeld = true
  t.equal((await s.api('POST', '/sandboxes/web/restart')).status, 200)
  await s.until('web', 'DEPLOYING')
  const waiting = s.get(host, '/', { accept: '*/*' })
  const page = await s.get(host, '/', { accept: 'text/html,*/*;q=0.8' })
  t.match(page, {
    status: 503,
    text: /<meta http-equiv="refresh" content="2">[^]*<h1>Starting/,
    headers: { 'retry-after': '2', 'cache-control': 'no-store', 'x-svc-source': 'platform' },
  })
  started.resolve()
  t.equal((await waiting).status, 200)
  t.equal((await s.get(host, '/', { accept: 'text/html' })).status, 200)
})

t.test('an asleep sandbox wakes for whoever comes, and sleeps again', async t => {
  const woken = Promise.withResolvers<void>()
  let isHeld = false
  const faults = (point: string) => (isHeld && point === 'thaw' ? woken.promise : undefined)
  const s = await ready(t, { faults, config: { standbyAfterMs: 50 } })
  const { host } = await s.preview('app')
  const asleep = async () => {
    await until(async () => (await s.api('GET', '/sandboxes/web')).body.state === 'STANDBY', 'the sandbox to sleep')
    t.pass('it sleeps')
  }
  for (const accept of ['*/*', 'text/html']) {
    t.equal((await s.get(host, '/', { accept })).status, 200)
    await asleep()
  }
  isHeld = true
  const waiting = s.get(host, '/')
  t.match(
    await s.get(host, '/', { accept: 'text/html' }),
    { status: 503, text: /<h1>Starting/ },
    'told so, and does not wait',
  )
  woken.resolve()
  t.equal((await waiting).status, 200, 'a program waits')
  await asleep()
})

t.test('no application is given an access token of the API', async t => {
  const { api, get, preview, url } = await ready(t)
  const { host } = await preview('app')
  const { body: account } = await api('POST', '/service_accounts?workspace=default', { name: 'ci' })
  const { client_id, client_secret } = account
  const form = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret })
  const given = await fetch(`${url}/v0/oauth/token`, { method: 'POST', body: form })
  const { access_token: token } = (await given.json()) as { access_token: string }
  const bearer = { authorization: `Bearer ${token}` }
  const listed = await fetch(`${url}/default/sandboxes/web/health`, { headers: bearer })
  t.equal(listed.status, 200, 'it opens the sandbox')
  const seen = await get(host, '/', bearer)
  t.equal(seen.status, 200)
  t.equal(Object.hasOwn(seen.body.headers, 'authorization'), false)
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
  const from = (headers: Record<string, string>, method = 'GET') =>
    get(host, '/b', { cookie: pair, ...headers }, method)
  for (const [headers, method] of [
    [{ origin: 'http://neighbour.preview.localhost' }, 'POST'],
    [{ origin: 'null' }, 'GET'],
    [{ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }, 'GET'],
    [{ 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }, 'GET'],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }, 'POST'],
  ] as const)
    t.equal(
      (await from(headers, method)).status,
      401,
      'a page of a neighbour asks, and a browser sends the cookie along',
    )
  for (const headers of [
    { origin: `http://${host}` },
    { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' },
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
  ])
    t.equal((await from(headers as Record<string, string>)).status, 200)
  const socketOf = async (origin: string) => {
    const socket = new WebSocket(`ws://127.0.0.1:${s.port}/hot`, { headers: { host, cookie: pair, origin } })
    socket.on('error', () => undefined)
    const opened = once(socket, 'open').then(() => 101)
    const status = await Promise.race([opened, once(socket, 'unexpected-response').then(([, one]) => one.statusCode)])
    socket.terminate()
    return status
  }
  t.equal(await socketOf(`http://${host}`), 101)
  t.equal(await socketOf('http://neighbour.preview.localhost'), 401)
  const shared = await get(local, `${path}/?svc_preview_token=${mine}`)
  t.equal(shared.status, 200)
  t.equal(Object.hasOwn(shared.headers, 'set-cookie'), false)
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
  t.match(seen, { url: '/hot', headers: { host: `localhost:${s.appPort}` } })
  t.equal(Object.hasOwn(seen.headers, 'x-svc-authorization'), false)
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
    text: /nothing answers on port 1 of the sandbox[^]*0\.0\.0\.0/,
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

t.test('a host name that reads as two workspaces is of the preview that had it first', async t => {
  const s = await ready(t)
  const spec = { runtime: { image: 'busybox' } }
  // Read from the left, the later one comes first.
  for (const [workspace, prefixUrl] of [
    ['c', 'a-b'],
    ['b-c', 'a'],
  ] as const) {
    t.equal((await s.api('POST', '/workspaces', { name: workspace })).status, 200)
    t.equal((await s.api('POST', `/sandboxes?workspace=${workspace}`, { metadata: { name: 'web' }, spec })).status, 200)
    const given = { port: s.appPort, public: true, prefixUrl, responseHeaders: { 'X-Of': workspace } }
    const body = { metadata: { name: 'app' }, spec: given }
    const made = await s.api('POST', `/sandboxes/web/previews?workspace=${workspace}`, body)
    t.equal(made.status, 200, made.text)
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  const host = `a-b-c.preview.localhost:${s.port}`
  t.match((await s.get(host, '/')).headers, { 'x-of': 'c' })
  await s.api('DELETE', '/sandboxes/web/previews/app?workspace=c')
  t.match((await s.get(host, '/')).headers, { 'x-of': 'b-c' }, 'and then of the next')
})

t.test('who has shown a token keeps its connection when a thousand others come', async t => {
  const { preview, token, port } = await ready(t)
  const [open, closed] = [await preview('open'), await preview('closed', { public: false })]
  const mine = await token('closed')
  const connected = async (head: string) => {
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.write(`${head}\r\n\r\n`)
    await once(socket, 'data')
    return socket
  }
  const known = await connected(`GET / HTTP/1.1\r\nHost: ${closed.host}\r\nX-Svc-Preview-Token: ${mine}`)
  const unknown = await connected(`GET / HTTP/1.1\r\nHost: ${open.host}`)
  const gone = once(unknown, 'close')
  for (let at = 0; at < 1100; at++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => undefined)
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
  }
  await gone
  known.write(`GET / HTTP/1.1\r\nHost: ${closed.host}\r\nX-Svc-Preview-Token: ${mine}\r\n\r\n`)
  t.match(String((await once(known, 'data'))[0]), /^HTTP\/1\.1 200/)
})

t.test('a connection ends after a quarter of an hour, whatever it does', async t => {
  const usual = systemClock()
  const cuts: (() => void)[] = []
  const clock: Clock = {
    ...usual,
    after(ms, run) {
      if (ms !== 15 * 60_000) return usual.after(ms, run)
      cuts.push(run)
      return () => undefined
    },
  }
  const s = await ready(t, { clock })
  const { host } = await s.preview('live')
  const socket = new WebSocket(`ws://127.0.0.1:${s.port}/hot`, { headers: { host } })
  await once(socket, 'message')
  const upload = async (more: Record<string, string>) => {
    const headers = { host, ...more }
    const streaming = request({ host: '127.0.0.1', port: s.port, path: '/stream', method: 'POST', headers })
    const failed = once(streaming, 'error')
    streaming.write('piece')
    await s.said('piece')
    return { failed }
  }
  // By the longer way through the host, and by the shorter one.
  const uploads = [await upload({}), await upload({ 'content-length': '1000' })]
  t.equal(cuts.length, 3)
  const closed = once(socket, 'close')
  const ended = s.said('ended')
  for (const cut of cuts) cut()
  await closed
  for (const { failed } of uploads) t.match(await failed, [{ code: 'ECONNRESET' }])
  t.equal(await ended, 'aborted')
})

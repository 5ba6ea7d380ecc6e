/** Browsers at the gateway: what they are let in by, what of it a workload sees, and what a workload may do to them. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import WebSocket, { WebSocketServer } from 'ws'
import { hashKey } from '../../../../../control/core/access/keys.ts'
import { createNewcomers } from '../../../../../control/server/proxy/gateway/newcomers.ts'
import type { Log } from '../../../../../shared/log.ts'
import { unrefused, wrongExamples } from '../../../../support/examples.ts'
import { exchange, raw } from '../../../../support/raw.ts'
import { until } from '../../../../support/until.ts'
import { testHost } from '../../../../support/whole-host.ts'

t.test('browsers', async t => {
  const lines: string[] = []
  const write = (event: string, fields?: object) => void lines.push(JSON.stringify({ event, ...fields }))
  const log: Log = { debug: write, info: write, warn: write, error: write } as unknown as Log

  /** What workloads were asked, and what they answer besides: all of them are this one. */
  let asked: IncomingMessage[] = []
  let more: Record<string, string | string[]> = {}
  const answer: RequestListener = (request, response) => {
    asked.push(request)
    response.writeHead(200, more).end('ok')
  }

  const sockets = new WebSocketServer({ noServer: true })
  const workload = createServer(answer)
  workload.on('upgrade', (request, socket, head) => {
    asked.push(request)
    if (request.url === '/refused')
      return void socket.end(
        'HTTP/1.1 418 No\r\nX-Svc-Source: platform\r\nSet-Cookie: a=1\r\nContent-Length: 2\r\n\r\nnoHTTP/1.1 200 OK\r\n\r\n',
      )
    sockets.handleUpgrade(request, socket, head, client => client.send('hello'))
  })
  await new Promise<void>(resolve => workload.listen(0, '127.0.0.1', resolve))
  const { port: upstreamPort } = workload.address() as AddressInfo
  /** What listens beside the daemon. */
  const application = createServer(answer)
  await new Promise<void>(resolve => application.listen(0, '127.0.0.1', resolve))
  const { port: appPort } = application.address() as AddressInfo
  const {
    host,
    api,
    until: untilIs,
  } = await testHost(t, {
    log,
    serve: async () => ({ host: '127.0.0.1', port: upstreamPort, close: () => {} }),
  })
  t.teardown(() => {
    for (const server of [workload, application]) {
      server.closeAllConnections()
      server.close()
    }
  })
  const { url, port } = await host.listen()
  const key = host.first.adminKey
  const create = async (name: string) => {
    const made = { metadata: { name }, spec: { runtime: { image: 'busybox' } } }
    t.equal((await api('POST', '/sandboxes', made)).status, 200)
    await untilIs(name, 'DEPLOYED')
  }
  await create('web')

  const box = `${url}/default/sandboxes/web`
  const sandboxHost = `sbx-web-default.local.localhost:${port}`
  const bearer = { authorization: `Bearer ${key}` }
  const asBrowser = { 'user-agent': 'Mozilla/5.0', accept: 'text/html,*/*;q=0.8', 'sec-fetch-site': 'none' }

  interface Got {
    readonly status: number
    readonly text: string
    readonly head: string
    header(name: string): string | undefined
  }

  /** One request, byte for byte: neither `fetch` nor the system resolves names below localhost, or sends what browsers send. */
  const get = async (
    target: string,
    headers: Record<string, string> = {},
    hostName = `127.0.0.1:${port}`,
  ): Promise<Got> => {
    const path = target.replace(/^http:\/\/[^/]+/, '')
    const all = Object.entries({ host: hostName, connection: 'close', ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    )
    const text = await exchange(t, port, `GET ${path} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n`)
    const head = text.slice(0, text.indexOf('\r\n\r\n'))
    return {
      status: Number(text.slice(9, 12)),
      head,
      text: text.slice(head.length + 4),
      header: name => new RegExp(`^${name}: (.*)$`, 'im').exec(head)?.[1],
    }
  }

  /** The request that the workload got last. */
  const seen = (): IncomingMessage => asked.at(-1) as IncomingMessage
  const link = async (body: object): Promise<URL> => new URL((await api('POST', '/sandboxes/web/links', body)).body.url)
  const cookieOf = ({ header }: Got): string => header('set-cookie')?.split(';')[0] ?? ''

  await t.test('a key in the address counts at the terminal and nowhere else, and reaches no workload', async t => {
    await get(`${box}/terminal/ws?token=${key}&cols=9`)
    t.equal(seen().url, '/terminal/ws?cols=9')
    await get(`${box}/terminal/ws?token=${key}&cols=9`, bearer)
    t.equal(seen().url, '/terminal/ws?cols=9', 'also when it was not needed')
    await get(`${box}/terminal/ws?token=another&cols=9`, bearer)
    t.equal(seen().url, '/terminal/ws?cols=9', 'nor does another one')
    for (const path of [
      '/health',
      `/port/${upstreamPort}/terminal`,
      `/port/${upstreamPort}/terminal/ws`,
      '/terminal/x',
    ]) {
      const before = asked.length
      const refused = await get(`${box}${path}?token=${key}`)
      t.same([refused.status, refused.header('referrer-policy')], [401, 'no-referrer'], path)
      t.equal(asked.length, before)
    }
    await get(`${box}/port/${upstreamPort}/terminal?token=mine`, bearer)
    t.equal(seen().url, '/terminal?token=mine', 'an application has tokens of its own')
    await get(`${box}/port/${upstreamPort}/x?a=%20&token=${key}&b?`, bearer)
    t.equal(seen().url, '/x?a=%20&b?', 'the key that came by a header is none of them')
    const written = [...key].map(letter => `%${letter.charCodeAt(0).toString(16)}`).join('')
    await get(`${box}/port/${upstreamPort}/x?tok%65n=${written}&a=%20`, bearer)
    t.equal(seen().url, '/x?a=%20', 'however it is written')
  })

  await t.test(
    'the same key in both headers is the application’s in neither; an address with a key is told to nobody',
    async t => {
      await get(`${box}/x`, { 'x-svc-authorization': `Bearer ${key}`, authorization: `bearer  ${key}` })
      t.same([seen().headers.authorization, seen().headers['x-svc-authorization']], [undefined, undefined])
      await get(`${box}/x`, { 'x-svc-authorization': `Bearer ${key}`, authorization: 'Bearer own' })
      t.equal(seen().headers.authorization, 'Bearer own')
      const twice = `Basic own\r\nauthorization: Bearer ${key}\r\nAuthorization: bearer ${key}`
      await get(`${box}/x`, { 'x-svc-authorization': `Bearer ${key}`, authorization: twice })
      t.match(seen().headers.authorization, 'Basic own')
      t.notMatch(seen().rawHeaders.join(), key, 'in no further one either')
      await get(`${box}/x`, { ...bearer, referer: `${box}/terminal?token=${key}` })
      t.equal(seen().headers.referer, `${box}/terminal`)
      await get(`${box}/x`, { ...bearer, referer: `${url}/_hutch/open?a=b&ticket=c` })
      t.equal(seen().headers.referer, `${url}/_hutch/open`)
      await get(`${box}/x`, { ...bearer, referer: 'http://a/b?c=d' })
      t.equal(seen().headers.referer, 'http://a/b?c=d')
    },
  )

  await t.test('a workload speaks neither for the host nor for the origin of the API', async t => {
    more = {
      'X-Svc-Source': 'platform',
      'x-svc-error-code': 'FORBIDDEN',
      'Set-Cookie': ['a=1; Path=/', 'hutch_access=forged; Path=/'],
      'Clear-Site-Data': '"*"',
      'Content-Security-Policy': "default-src 'self'",
      'X-Own': '1',
    }
    t.teardown(() => (more = {}))
    const program = await get(`${box}/x`, bearer)
    t.same(
      [program.header('x-svc-source'), program.header('x-svc-error-code'), program.header('x-own')],
      [undefined, undefined, '1'],
    )
    t.equal(
      program.header('set-cookie'),
      'a=1; Path=/',
      'for programs nothing changes, but that the login is not theirs to set',
    )
    t.notMatch(program.head, /forged/)
    const page = await get(`${box}/x`, { ...bearer, ...asBrowser, cookie: 'a=1; hutch_access=x' })
    t.match(page.header('content-security-policy'), /default-src|sandbox allow-scripts/)
    t.match(page, { status: 200 })
    t.equal(page.header('set-cookie'), undefined)
    t.equal(page.header('clear-site-data'), undefined)
    t.equal(page.header('referrer-policy'), 'no-referrer')
    t.equal(seen().headers.cookie, undefined)
    more['Referrer-Policy'] = 'origin'
    t.same(
      (await get(`${box}/x`, bearer)).head.match(/referrer-policy: .*/gi),
      ['Referrer-Policy: origin'],
      'one may say more',
    )
    await get(`${box}/x`, { ...bearer, cookie: 'a=1; hutch_access=x; b=2' })
    t.equal(seen().headers.cookie, 'a=1; b=2')
    const own = await get('/x', { ...bearer, ...asBrowser, cookie: 'hutch_access=x;a=1' }, sandboxHost)
    t.equal(seen().headers.cookie, 'a=1', 'at its own origin an application has cookies')
    t.equal(own.header('set-cookie'), 'a=1; Path=/')
    t.equal(own.header('content-security-policy'), "default-src 'self'")
    t.equal(own.header('clear-site-data'), '"*"')
  })

  await t.test('every answer at the origin of the API is of an origin that nobody else has', async t => {
    const sandboxed = 'sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads'
    t.equal((await get(`${box}/x`, bearer)).header('content-security-policy'), sandboxed)
    t.equal((await get(`${box}/port/${upstreamPort}/x`, bearer)).header('content-security-policy'), sandboxed)
    t.equal((await get('/x', bearer, sandboxHost)).header('content-security-policy'), undefined)
  })

  await t.test('a refused upgrade is passed on as one answer, and then nothing', async t => {
    const head = `GET /default/sandboxes/web/refused HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
    const before = asked.length
    const connection = await raw(t, port)
    connection.send(
      `${head}GET /default/sandboxes/web/next HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    )
    const text = await connection.ended
    t.match(text, /^HTTP\/1\.1 418 No\r\n[^]*connection: close\r\n\r\nno$/i)
    t.notMatch(text, /x-svc-source|200 OK/i)
    t.equal(asked.length, before + 1, 'nothing else reached the workload')
  })

  await t.test('a link opens one port, once, in a browser that comes by the name of the sandbox', async t => {
    const path = `/port/${appPort}`
    const ticket = await link({ port: appPort, path: '/a?b=1' })
    t.equal(ticket.host, sandboxHost)
    const open = (at = sandboxHost) => get(`${ticket.pathname}${ticket.search}`, asBrowser, at)
    const opened = await open()
    t.match(opened, { status: 303 })
    t.equal(opened.header('location'), `${path}/a?b=1`)
    t.match(
      opened.header('set-cookie'),
      new RegExp(`^hutch_access=[^;]+; Path=${path}; Max-Age=\\d+; HttpOnly; SameSite=Lax$`),
    )
    t.equal(opened.header('referrer-policy'), 'no-referrer')
    t.equal((await open()).status, 401, 'a second time')
    const cookie = cookieOf(opened)
    const visit = async (target: string, headers: Record<string, string> = {}, at = sandboxHost) =>
      (await get(target, { ...asBrowser, cookie, ...headers }, at)).status
    t.equal(await visit(`${path}/a?b=1`), 200)
    t.same([seen().url, seen().headers.cookie], ['/a?b=1', undefined], 'the workload does not see it')
    t.equal(await visit('/port/9/'), 401, 'another port')
    const daemons = await link({ port: upstreamPort })
    const login = cookieOf(await get(`${daemons.pathname}${daemons.search}`, asBrowser, sandboxHost))
    const before = asked.length
    t.equal(await visit(`/port/${upstreamPort}/process`, { cookie: login }), 403, 'the port of the daemon')
    t.equal(asked.length, before)
    t.equal(await visit('/process'), 401, 'the daemon')
    t.equal(await visit('/terminal'), 401, 'the terminal')
    t.equal(await visit(`/default/sandboxes/web${path}/`, {}, `127.0.0.1:${port}`), 401, 'at the origin of the API')
    t.equal(await visit(`${path}/`, { cookie: `${cookie}x` }), 401, 'altered')
    t.equal(await visit(`${path}/`, { cookie: `hutch_access=old; ${cookie}` }), 200, 'beside another')
    for (const [what, headers, status] of [
      ['its own page', { 'sec-fetch-site': 'same-origin', origin: `http://${sandboxHost}` }, 200],
      [
        'a page of another sandbox',
        { 'sec-fetch-site': 'same-site', origin: `http://sbx-x-default.local.localhost:${port}` },
        401,
      ],
      [
        'a frame in another sandbox',
        { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
        401,
      ],
      [
        'a link elsewhere',
        { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
        200,
      ],
      ['nobody', { origin: 'null' }, 401],
    ] as const)
      t.equal(await visit(`${path}/`, headers), status, what)
  })

  await t.test('a link is for one host name, and ports have none where there is no name for them', async t => {
    const { pathname, search } = await link({ port: upstreamPort })
    t.equal((await get(`${pathname}${search}`, asBrowser)).status, 401)
    t.match(await api('POST', '/sandboxes/web/links', { path: '/x' }), { status: 400, body: { message: /^path: / } })
    t.match(await api('POST', '/sandboxes/web/links', { port: 0 }), { status: 400, body: { message: /port: / } })
    t.match(await api('POST', '/sandboxes/web/links', { port: 1, path: 'x' }), {
      status: 400,
      body: { message: /path: / },
    })
    t.match(await api('POST', '/sandboxes/none/links', {}), { status: 404 })
    const away = await fetch(`${url}/v0/sandboxes/web/links`, {
      method: 'POST',
      headers: bearer,
      body: '{"port":3000}',
    })
    t.equal(away.status, 200)
    const { text } = await get('/', { accept: 'application/json' })
    t.same(Object.keys(JSON.parse(text) as object), ['name', 'api', 'openapi', 'explorer'])
  })

  await t.test('the terminal’s page is the host’s, and its login is good for nothing else', async t => {
    const opened = await get((await link({})).href.replace(url, ''), asBrowser)
    t.equal(opened.header('location'), '/default/sandboxes/web/terminal')
    const cookie = cookieOf(opened)
    const before = asked.length
    const page = await get(`${box}/terminal`, { ...asBrowser, cookie })
    t.equal(page.status, 200)
    t.match(page.text, /<title>web<\/title>[^]*<script src="\.\.\/\.\.\/\.\.\/_hutch\/assets\/xterm\.js">/)
    t.match(
      page.header('content-security-policy'),
      /^default-src 'none'; script-src 'self'; style-src 'self' 'nonce-[^']+'; [^]*frame-ancestors 'none'$/,
    )
    t.equal(asked.length, before, 'the sandbox was not asked')
    for (const path of ['/health', `/port/${upstreamPort}/`, '/process'])
      t.equal((await get(`${box}${path}`, { ...asBrowser, cookie })).status, 401, path)
    const socket = new WebSocket(`${box.replace('http', 'ws')}/terminal/ws?cols=80`, {
      headers: { cookie, origin: url },
    })
    const [hello] = await new Promise<unknown[]>((done, failed) =>
      socket.once('message', (...said) => done(said)).once('error', failed),
    )
    t.equal(String(hello), 'hello')
    t.equal(seen().headers.cookie, undefined)
    socket.terminate()
    const foreign = new WebSocket(`${box.replace('http', 'ws')}/terminal/ws`, {
      headers: { cookie, origin: 'http://evil.example' },
    })
    t.match(await new Promise(done => foreign.once('error', done)), { message: /401/ })
    const byKey = await get(`${box}/terminal?token=${key}&sessionId=a`, asBrowser)
    t.match(byKey, { status: 303 })
    t.equal(byKey.header('referrer-policy'), 'no-referrer')
    t.equal(byKey.header('location'), '/default/sandboxes/web/terminal?sessionId=a', 'the key is left behind')
    t.equal((await get(`${box}/terminal?token=${key}`)).status, 200, 'a program gets the page')
    const other = await get(`/terminal?token=${key}`, asBrowser, sandboxHost)
    t.match(
      other.header('location'),
      new RegExp(`^http://localhost:${port}/_hutch/open\\?ticket=`),
      'at the origin of the API',
    )
  })

  await t.test('a login ends with its key and with its sandbox', async t => {
    await create('brief')
    const limited = { name: 'l', account: 'default', workspace: null, role: 'member', accountAdmin: false } as const
    const stored = {
      ...limited,
      createdAt: 0,
      expiresAt: null,
      owner: null,
      person: null,
      defaultWorkspace: null,
      scopes: ['sandboxes:control'],
    }
    await host.store.tenants.addApiKey({ id: 'l', hash: hashKey('limited'), ...stored })
    const login = async (form: Record<string, string>) => {
      const body = new URLSearchParams(form).toString()
      const sent = `POST /_hutch/login HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\nAccept: text/html\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      return exchange(t, port, sent)
    }
    t.match(
      await login({ key: 'wrong', to: '/default/sandboxes/brief/terminal' }),
      /^HTTP\/1\.1 401 [^]*class="wrong">the API key is not valid/,
    )
    t.match(await login({ key: 'limited', to: '//evil.example/x' }), /^HTTP\/1\.1 400 [^]*to: is neither/)
    t.match(await login({ key: 'limited', name: 'brief', workspace: 'default', port: '70000' }), /^HTTP\/1\.1 400 /)
    t.match(
      await login({ key: 'limited', name: 'brief', workspace: 'default', port: '80' }),
      /^HTTP\/1\.1 200 [^]*url=http:\/\/sbx-brief-default\.local\.localhost/,
    )
    const done = await login({ key: 'limited', to: '/default/sandboxes/brief/terminal' })
    t.match(done, /^HTTP\/1\.1 303 [^]*location: \/default\/sandboxes\/brief\/terminal\r\n/i)
    const cookie = /set-cookie: ([^;]+)/i.exec(done)?.[1] as string
    const page = async () => (await get(`${url}/default/sandboxes/brief/terminal`, { cookie, ...asBrowser })).status
    t.equal(await page(), 200)
    t.equal((await get(`${box}/terminal`, { cookie, ...asBrowser })).status, 401, 'another sandbox')
    await api('DELETE', '/sandboxes/brief')
    await until(async () => (await page()) === 404, 'the end of the sandbox')
    await create('brief')
    t.equal(await page(), 401, 'another of the same name')
    const again = /set-cookie: ([^;]+)/i.exec(
      await login({ key: 'limited', to: '/default/sandboxes/brief/terminal' }),
    )?.[1] as string
    await host.store.tenants.removeApiKey('l')
    t.equal(
      (await get(`${url}/default/sandboxes/brief/terminal`, { cookie: again, ...asBrowser })).status,
      401,
      'without its key',
    )
  })

  await t.test('pages for who prefers them, JSON for everybody else', async t => {
    for (const [target, status] of [
      ['/', 200],
      ['/nowhere', 404],
      ['/v0/sandboxes', 401],
      ['/v0/nothing', 404],
      [`${box}/terminal`, 401],
      ['/_hutch/assets/none.js', 404],
    ] as const) {
      const page = await get(target, asBrowser)
      t.equal(page.status, status, target)
      t.match(page.header('content-type'), /^text\/html/, target)
      t.match(page.header('vary'), /Accept/)
      t.equal(page.header('referrer-policy'), 'no-referrer', target)
      t.match(page.header('content-security-policy'), /default-src 'none'/)
      for (const accept of ['*/*', 'application/json', 'application/json, text/html;q=0.9']) {
        const plain = await get(target, { accept })
        t.equal(plain.status, status)
        t.match(plain.header('content-type'), /^application\/json/, `${target} ${accept}`)
        t.match(plain.header('vary'), /Accept/)
      }
    }
    t.equal((await get('/')).header('referrer-policy'), 'no-referrer')
    t.match((await get(`/default/sandboxes/web/port/80/<script>`, asBrowser)).text, /&lt;script&gt;|%3Cscript/)
    t.match((await get(`/<b>`, asBrowser)).text, /&lt;b&gt;/, 'what was asked for is text')
    t.match(
      (await get(`/port/${upstreamPort}/a?b=1`, asBrowser, sandboxHost)).text,
      /href="http:\/\/localhost:\d+\/_hutch\/login\?to=[^"]+port/,
    )
  })

  await t.test('the explorer is for both APIs, and everything in it comes from here', async t => {
    const page = await get('/explorer/?at=/default/sandboxes/web', asBrowser)
    const sources = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(match => match[1] as string)
    t.ok(sources.length > 4)
    for (const source of sources.filter(one => !one.startsWith('data:'))) {
      const got = await get(new URL(source, `${url}/explorer/`).pathname)
      t.equal(got.status, 200, source)
      t.match(got.header('content-type'), /^text\/(css|javascript)/)
    }
    const document = JSON.parse((await get('/explorer/sandbox.json?at=/default/sandboxes/web')).text) as {
      servers: unknown
      paths: object
    }
    t.same(document.servers, [{ url: '/default/sandboxes/web' }])
    t.same(wrongExamples(document).wrong, [])
    t.same(unrefused(document), [])
    t.ok('/process' in document.paths)
    t.equal((await get('/explorer/?at=https://evil.example/', asBrowser)).status, 400)
  })

  await t.test("the documentation of a sandbox is the host's, whatever answers inside", async t => {
    asked = []
    const led = await get('/default/sandboxes/web/swagger', asBrowser)
    t.match([led.status, led.header('location')], [301, '/default/sandboxes/web/swagger/index.html'])
    const page = await get('/default/sandboxes/web/swagger/', asBrowser)
    t.match(page.text, /API explorer: web/)
    t.match(page.header('content-security-policy'), /default-src 'none'; script-src 'self'/)
    const sources = [...page.text.matchAll(/(?:src|href|data-workload|data-management)="([^"]+)"/g)].map(
      match => match[1] as string,
    )
    for (const source of sources.filter(one => !one.startsWith('data:'))) {
      const { pathname, search } = new URL(source, `${box}/swagger/`)
      t.equal((await get(pathname + search, pathname.startsWith('/v0') ? bearer : {})).status, 200, source)
    }
    const named = await get('/swagger/index.html', asBrowser, sandboxHost)
    t.match(
      [named.status, named.text],
      [200, `url=http://localhost:${port}/explorer/?at=/default/sandboxes/web"`],
      'what is typed in at the origin of a workload its applications could read',
    )
    t.equal((await get('/default/sandboxes/web/swagger/openapi.json')).status, 401)
    const document = JSON.parse((await get('/default/sandboxes/web/swagger/openapi.json', bearer)).text) as object
    t.match(document, { openapi: /^3\.1/, servers: [{ url: '/default/sandboxes/web' }], paths: { '/process': {} } })
    const older = JSON.parse((await get('/swagger/doc.json', bearer, sandboxHost)).text) as object
    t.match(older, { swagger: '2.0', host: sandboxHost, basePath: '/', schemes: ['http'], paths: { '/process': {} } })
    t.equal((await get('/default/sandboxes/web/swagger/other.js', bearer)).status, 404)
    for (const [at, to] of [
      ['swagger', 'swagger/index.html'],
      ['swagger/index.html', 'swagger/index.html'],
    ] as const) {
      const byPort = await get(`/default/sandboxes/web/port/${upstreamPort}/${at}`, bearer)
      t.match([byPort.status, byPort.header('location')], [307, `/default/sandboxes/web/${to}`], 'by its port too')
    }
    t.same(asked, [], 'nothing of it comes from inside')
    await get(`/default/sandboxes/web/port/${appPort}/swagger/`, bearer)
    await get('/default/sandboxes/web/swaggering', bearer)
    t.same(
      asked.map(({ url }) => url),
      ['/swagger/', '/swaggering'],
      'what only looks like it does',
    )
  })

  await t.test('who has not said who they are costs little: few connections, and small heads', async t => {
    t.match(
      await exchange(t, port, `GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX: ${'x'.repeat(70_000)}\r\n\r\n`),
      /^HTTP\/1\.1 431 /,
    )
    const ended: number[] = []
    const newcomers = createNewcomers({ max: 2 })
    const connection = (id: number) => ({ destroy: () => ended.push(id), once: () => {} }) as never
    const first = connection(1)
    for (const one of [first, connection(2)]) newcomers.add(one)
    newcomers.admitted(first)
    for (const id of [3, 4]) newcomers.add(connection(id))
    t.same(ended, [2], 'the oldest that is not known goes')
    t.equal(newcomers.size, 2)
  })

  await t.test('the key is in no line of the log, and neither is a ticket', async t => {
    await get(`/nowhere?token=${key}`)
    await get(`${box}/terminal/ws?token=${key}`, {}, 'sbx-web-default.mars')
    t.ok(lines.length > 20)
    t.notOk(lines.some(line => line.includes(key) || line.includes('ticket=')))
    asked = []
  })
})

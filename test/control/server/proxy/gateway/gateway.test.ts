import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import WebSocket, { WebSocketServer } from 'ws'
import { hashKey } from '../../../../../control/core/access/keys.ts'
import { testHost, type HostOptions } from '../../../../support/whole-host.ts'

type Answering = (request: IncomingMessage, response: ServerResponse) => unknown

/** A host whose machines all answer with `answer`, one sandbox `web`, and a way to call it. */
const served = async (t: Test, answer: Answering, options: HostOptions = {}) => {
  const sockets = new WebSocketServer({ noServer: true })
  const made = await testHost(t, {
    ...options,
    serve: async () => {
      const server = createServer(answer)
      server.on('upgrade', (request, socket, head) => {
        if (request.url === '/refused') {
          socket.end('HTTP/1.1 418 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n')
          return
        }
        sockets.handleUpgrade(request, socket, head, client => {
          client.send(JSON.stringify({ url: request.url, headers: request.headers }))
          client.on('message', (data, isBinary) => client.send(data, { binary: isBinary }))
        })
      })
      await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      t.teardown(() => {
        server.closeAllConnections()
        server.close()
      })
      return { host: '127.0.0.1', port, close: () => server.closeAllConnections() }
    },
  })
  const { url, port } = await made.host.listen()
  const key = made.host.first.adminKey
  t.equal(
    (await made.api('POST', '/sandboxes', { metadata: { name: 'web' }, spec: { runtime: { image: 'busybox' } } }))
      .status,
    200,
  )
  const base = `${url}/default/sandboxes/web`
  const get = (path: string, init: RequestInit = {}) =>
    fetch(`${base}${path}`, { ...init, headers: { 'x-svc-authorization': `Bearer ${key}`, ...init.headers } })
  return { ...made, url, port, key, base, get }
}

/** What the workload saw, as JSON. */
const echo: Answering = (request, response) => {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers }))
}

t.test('a request is held until the sandbox is up, then answered', async t => {
  const gate = Promise.withResolvers<void>()
  const { get, until } = await served(t, echo, {
    faults: point => (point === 'create.half' ? gate.promise : undefined),
  })
  const answer = get('/health')
  const first = await Promise.race([
    answer.then(() => 'answered'),
    new Promise(resolve => setTimeout(resolve, 300, 'held')),
  ])
  t.equal(first, 'held')
  gate.resolve()
  t.equal((await answer).status, 200)
  await until('web', 'DEPLOYED')
})

t.test('the path and query go on as they were sent', async t => {
  const { port, key } = await served(t, echo)
  for (const target of ['/filesystem/%2Ftmp%2Fa%20b?download=true&x=%2F', '/filesystem//tmp', '/a/../b', '/?q']) {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const call = httpRequest(
        { port, path: `/default/sandboxes/web${target}`, headers: { authorization: `Bearer ${key}` } },
        resolve,
      )
      call.on('error', reject)
      call.end()
    })
    t.equal(JSON.parse((await buffer(answer)).toString()).url, target)
  }
})

t.test('the host form reaches the same sandbox', async t => {
  const { port, key } = await served(t, echo)
  const call = (host: string) =>
    new Promise<number>((resolve, reject) => {
      const sent = httpRequest({ port, path: '/health', headers: { host, authorization: `Bearer ${key}` } }, answer => {
        answer.resume()
        resolve(answer.statusCode ?? 0)
      })
      sent.on('error', reject)
      sent.end()
    })
  t.equal(await call('sbx-web-default.local.example.org'), 200)
  t.equal(await call('sbx-web-default.mars.example.org'), 404)
  t.equal(await call('sbx-nobody-default.local'), 404)
})

t.test('who may: no key, a wrong key, a key of another workspace', async t => {
  const { base, url, key, host } = await served(t, echo)
  const refused = async (target: string, headers: Record<string, string>) => {
    const answer = await fetch(target, { headers })
    const { error } = (await answer.json()) as { error: { code: string; origin: string; retryable: boolean } }
    t.equal(error.origin, 'platform')
    t.equal(answer.headers.get('x-svc-source'), 'platform')
    t.equal(answer.headers.get('x-svc-error-code'), error.code)
    return `${answer.status} ${error.code}`
  }
  t.equal(await refused(base, {}), '401 AUTHENTICATION_REQUIRED')
  t.equal(await refused(base, { authorization: 'Basic abc' }), '401 AUTHENTICATION_REQUIRED')
  t.equal(await refused(base, { authorization: 'Bearer wrong' }), '401 AUTHENTICATION_FAILED')
  const now = Date.now()
  await host.store.tenants.addWorkspace({
    id: 'w2',
    name: 'other',
    account: 'default',
    displayName: 'Other',
    createdAt: now,
  })
  await host.store.tenants.addApiKey({
    id: 'k2',
    hash: hashKey('second'),
    name: 'k2',
    account: 'default',
    workspace: 'other',
    role: 'member',
    accountAdmin: false,
    createdAt: now,
    expiresAt: null,
    scopes: null,
    owner: null,
    person: null,
    defaultWorkspace: null,
  })
  t.equal(await refused(base, { authorization: 'Bearer second' }), '403 FORBIDDEN')
  const limited = async (id: string, scopes: readonly string[]) => {
    const one = { name: id, account: 'default', workspace: null, role: 'member', accountAdmin: false } as const
    const rest = { createdAt: now, expiresAt: null, owner: null, person: null, defaultWorkspace: null }
    await host.store.tenants.addApiKey({ id, hash: hashKey(id), ...one, ...rest, scopes })
    return id
  }
  const listing = await limited('lists-only', ['sandboxes:list'])
  t.equal(await refused(base, { authorization: `Bearer ${listing}` }), '403 FORBIDDEN')
  const using = await limited('uses', ['sandboxes:control'])
  t.equal((await fetch(`${base}/health`, { headers: { authorization: `Bearer ${using}` } })).status, 200)
  t.equal(
    await refused(`${url}/default/sandboxes/nobody`, { authorization: `Bearer ${key}` }),
    '404 WORKLOAD_NOT_FOUND',
  )
  t.equal(
    await refused(`${url}/default/sandboxes/nobody`, { authorization: 'Bearer wrong' }),
    '401 AUTHENTICATION_FAILED',
    'a wrong key learns nothing',
  )
  t.equal(await refused(`${url}/nowhere/sandboxes/web`, { authorization: `Bearer ${key}` }), '404 WORKSPACE_NOT_FOUND')
  t.equal(await refused(`${url}/nonsense`, { authorization: `Bearer ${key}` }), '404 ROUTE_NOT_FOUND')
})

t.test('our credential never reaches the workload; its own does', async t => {
  const { base, key } = await served(t, echo)
  const seen = async (headers: Record<string, string>) =>
    ((await (await fetch(base, { headers })).json()) as { headers: Record<string, string> }).headers
  const byOurs = await seen({ 'x-svc-authorization': `Bearer ${key}`, authorization: 'Bearer app-token' })
  t.equal(byOurs['authorization'], 'Bearer app-token')
  t.equal(byOurs['x-svc-authorization'], undefined)
  const byStandard = await seen({ authorization: `Bearer ${key}` })
  t.equal(byStandard['authorization'], undefined)
  t.notMatch(JSON.stringify([byOurs, byStandard]), new RegExp(key))
  const ofAnother = await seen({ 'x-svc-authorization': 'Basic dXNlcjpzZWNyZXQ=', authorization: `Bearer ${key}` })
  t.equal(ofAnother['authorization'], undefined, 'the first header that carries a bearer is the credential')
  const wrongOurs = await seen({ 'x-svc-authorization': 'not a bearer', authorization: `Bearer ${key}` })
  t.notMatch(JSON.stringify(wrongOurs), new RegExp(key))
  const forged = { 'x-svc-subject-id': 'forged', x_svc_auth_method: 'forged', 'X-Request-Id': 'forged' }
  t.notMatch(JSON.stringify(await seen({ authorization: `Bearer ${key}`, ...forged })), /forged/)
})

t.test('streams pass piece by piece, both ways', async t => {
  const { port, key } = await served(t, (request, response) => {
    response.writeHead(200)
    response.flushHeaders()
    request.on('data', piece => response.write(piece))
    request.on('end', () => response.end('bye'))
  })
  const call = httpRequest({
    port,
    method: 'POST',
    path: '/default/sandboxes/web/x',
    headers: { authorization: `Bearer ${key}` },
  })
  call.write('one')
  const [answer] = (await once(call, 'response')) as [IncomingMessage]
  t.equal(String((await once(answer, 'data'))[0]), 'one', 'comes back before the request ends')
  for (const word of ['two', 'three']) {
    call.write(word)
    t.equal(String((await once(answer, 'data'))[0]), word)
  }
  call.end()
  t.equal((await buffer(answer)).toString(), 'bye')
})

t.test('large bodies arrive whole, both ways', async t => {
  const { get } = await served(t, (request, response) => void request.pipe(response))
  const sent = randomBytes(24 * 1024 * 1024)
  const answer = await get('/x', { method: 'POST', body: sent })
  const received = Buffer.from(await answer.arrayBuffer())
  const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
  t.equal(hash(received), hash(sent))
})

t.test("a client that goes away ends the workload's request", async t => {
  const gone = Promise.withResolvers<void>()
  const started = Promise.withResolvers<void>()
  const { get } = await served(t, (_request, response) => {
    response.write('x')
    response.on('close', () => gone.resolve())
    started.resolve()
  })
  const abort = new AbortController()
  await get('/x', { signal: abort.signal })
  await started.promise
  abort.abort()
  await gone.promise
  t.pass('the workload saw it')
})

t.test('an answer that breaks off breaks off for the client too', async t => {
  const { get } = await served(t, (_request, response) => {
    response.writeHead(200, { 'content-length': '100' })
    response.write('some', () => response.destroy())
  })
  const answer = await get('/x')
  await t.rejects(answer.text())
})

t.test('status, headers and repeated headers come back as the workload set them', async t => {
  const { get } = await served(t, (_request, response) => {
    response.writeHead(207, 'Many', { 'x-a': '1', 'set-cookie': ['a=1', 'b=2'] })
    response.end('body')
  })
  const answer = await get('/x')
  t.equal(answer.status, 207)
  t.equal(answer.headers.get('x-a'), '1')
  t.same(answer.headers.getSetCookie(), ['a=1', 'b=2'])
  t.equal(answer.headers.get('x-svc-source'), null, 'not the platform speaking')
})

t.test('a redirect leads to where the client can go', async t => {
  const { get, base } = await served(t, (request, response) => {
    const location = decodeURIComponent(new URL(request.url ?? '', 'http://x').searchParams.get('to') ?? '')
    response.writeHead(302, { location }).end()
  })
  const path = new URL(base).pathname
  for (const [to, location] of [
    ['/login?x', `${path}/login?x`],
    ['/', `${path}/`],
    [`${path}/there`, `${path}/there`],
    [path, path],
    [`${path}y`, `${path}${path}y`],
    ['//elsewhere/x', '//elsewhere/x'],
    ['near', 'near'],
    ['https://other/x', 'https://other/x'],
  ] as const) {
    const answer = await get(`/go?to=${encodeURIComponent(to)}`, { redirect: 'manual' })
    t.equal(answer.headers.get('location'), location, to)
  }
})

t.test('WebSockets pass, text and binary, and end on both sides', async t => {
  const { base, key } = await served(t, echo)
  const socket = new WebSocket(`${base.replace('http', 'ws')}/terminal/ws?x=1&token=${key}`)
  const [hello] = await once(socket, 'message')
  const { url, headers } = JSON.parse(String(hello))
  t.equal(url, '/terminal/ws?x=1', 'the key is taken out of the query')
  t.notMatch(JSON.stringify(headers), new RegExp(key))
  socket.send('hi')
  t.equal(String((await once(socket, 'message'))[0]), 'hi')
  socket.send(randomBytes(300_000))
  t.equal((await once(socket, 'message'))[0].length, 300_000)
  socket.close()
  await once(socket, 'close')
  const refused = new WebSocket(`${base.replace('http', 'ws')}/refused`, {
    headers: { authorization: `Bearer ${key}` },
  })
  t.match((await once(refused, 'error'))[0], { message: /418/ })
  const unauthorised = new WebSocket(`${base.replace('http', 'ws')}/terminal/ws`)
  t.match((await once(unauthorised, 'error'))[0], { message: /401/ })
})

t.test('nothing listens: 502, with what to do', async t => {
  const { get } = await served(t, echo)
  const answer = await get('/port/1/x')
  t.equal(answer.status, 502)
  t.match(await answer.json(), { error: { code: 'UPSTREAM_FAILED', retryable: true, message: /port 1 / } })
})

t.test('what the gateway says goes out under every name', async t => {
  const acme = { header: 'Acme', short: 'ac', image: 'ac' }
  const { url, key, get } = await served(t, echo, {
    config: { wireNames: [{ header: 'Svc', short: 'svc', image: 'svc' }, acme] },
  })
  const seen = (await (await get('/x')).json()) as { headers: Record<string, string> }
  for (const header of ['subject-id', 'subject-type', 'auth-method'])
    t.equal(seen.headers[`x-acme-${header}`], seen.headers[`x-svc-${header}`] ?? 'missing', header)
  const headers = { 'x-acme-authorization': `Bearer ${key}` }
  const refused = await fetch(`${url}/default/sandboxes/none/x`, { headers })
  for (const name of ['svc', 'acme']) {
    t.equal(refused.headers.get(`x-${name}-source`), 'platform')
    t.equal(refused.headers.get(`x-${name}-error-code`), 'WORKLOAD_NOT_FOUND')
  }
})

t.test('a sandbox that failed says why', async t => {
  const { get, until } = await served(t, echo, {
    faults: point => {
      if (point === 'create.before') throw new Error('the disk is on fire')
    },
  })
  await until('web', 'FAILED')
  const answer = await get('/x')
  t.equal(answer.status, 404)
  t.equal(answer.headers.get('retry-after'), null)
  t.match(await answer.json(), {
    error: { code: 'WORKLOAD_UNAVAILABLE', retryable: false, do_not: 'retry', message: /FAILED.*the disk is on fire/ },
  })
})

t.test('a preflight is answered without a key, for the headers asked for', async t => {
  const { base } = await served(t, echo)
  const answer = await fetch(base, {
    method: 'OPTIONS',
    headers: {
      origin: 'http://x',
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'x-svc-authorization',
    },
  })
  t.equal(answer.status, 204)
  t.equal(answer.headers.get('access-control-allow-headers'), 'x-svc-authorization')
})

t.test('a kept connection that the workload drops costs a reader nothing', async t => {
  let calls = 0
  const { get } = await served(t, (request, response) => {
    calls++
    // The second request on a connection finds it cut, as when the workload restarts.
    if (calls === 2) request.socket.destroy()
    else response.end(String(calls))
  })
  t.equal(await (await get('/x')).text(), '1')
  t.equal(await (await get('/x')).text(), '3')
})

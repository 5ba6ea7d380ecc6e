/** The main listener with TLS: whose certificate, which protocol, where plain HTTP leads, and what changes while it runs. */
import { once } from 'node:events'
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { request as plainRequest } from 'node:http'
import { connect, type ClientHttp2Session } from 'node:http2'
import { request, type RequestOptions } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect as tlsConnect } from 'node:tls'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { loadConfig } from '../../../../control/base/config.ts'
import { openCertificates } from '../../../../control/server/tls/certificates.ts'
import { secureAddress } from '../../../../control/server/tls/redirect.ts'
import { silentLog } from '../../../../shared/log.ts'
import { testAuthority } from '../../../support/certificates.ts'
import { fakeClock } from '../../../support/clock.ts'
import { previewHost } from '../../../support/previews.ts'
import { repository } from '../../../support/whole-host.ts'

const { ca, ...authority } = testAuthority(t.testdir())
const dir = join(t.testdirName, 'certificates')
mkdirSync(dir)
authority.sign(join(dir, 'api'), ['hutch.test', 'localhost'])
authority.sign(join(dir, 'previews'), ['*.preview.localhost'])

const tls = { ...loadConfig({}, repository).tls, dir }

/** An answer over HTTP/1.1. */
const ask = async (port: number, options: RequestOptions & { readonly body?: string }) => {
  const { body, ...rest } = options
  const asked = request({ host: '127.0.0.1', port, ca, agent: false, ...rest }).end(body)
  const [answer] = await once(asked, 'response')
  return { status: answer.statusCode as number, headers: answer.headers, text: await text(answer) }
}

const session = async (t: Test, port: number, servername: string): Promise<ClientHttp2Session> => {
  const opened = connect(`https://127.0.0.1:${port}`, { ca, servername })
  t.teardown(() => opened.destroy())
  await once(opened, 'connect')
  return opened
}

/** An answer over HTTP/2. */
const over = async (client: ClientHttp2Session, headers: Record<string, string | string[]>, body?: string) => {
  const stream = client.request(headers, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  const [head] = await once(stream, 'response')
  return { status: head[':status'] as number, headers: head, text: await text(stream) }
}

/** A frame of HTTP/2; `flags` and `type` as RFC 9113 has them. */
const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** Fields as literals that nobody remembers (RFC 7541, section 6.2.2). */
const literals = (fields: Record<string, string>): Buffer =>
  Buffer.concat(
    Object.entries(fields).map(([name, value]) =>
      Buffer.concat([
        Buffer.from([0, name.length]),
        Buffer.from(name),
        Buffer.from([value.length]),
        Buffer.from(value),
      ]),
    ),
  )

/** A client that writes frames by hand, for what Node's own does not do. */
const byHand = async (t: Test, port: number) => {
  const socket = tlsConnect({ host: '127.0.0.1', port, ca, servername: 'hutch.test', ALPNProtocols: ['h2'] })
  t.teardown(() => socket.destroy())
  await once(socket, 'secureConnect')
  socket.resume()
  socket.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0, Buffer.alloc(0))]))
  return socket
}

const nameOf = (port: number, servername: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = tlsConnect({ host: '127.0.0.1', port, ca, servername, checkServerIdentity: () => undefined })
    socket.once('error', reject).once('secureConnect', () => {
      resolve(socket.getPeerCertificate().subjectaltname ?? '')
      socket.destroy()
    })
  })

t.test('certificates by name, addresses with https, and plain HTTP that leads on', async t => {
  const s = await previewHost(t, { config: { tls: { ...tls, httpPort: 0, hstsSeconds: 600 } } })
  const { port } = s
  t.equal(s.url, `https://127.0.0.1:${port}`)
  t.match(await nameOf(port, 'hutch.test'), /hutch\.test/)
  t.match(await nameOf(port, 'x.preview.localhost'), 'DNS:*.preview.localhost')
  t.match(await nameOf(port, 'unknown.example'), /hutch\.test/, 'the first one')
  const start = await ask(port, { servername: 'hutch.test', path: '/', headers: { host: 'hutch.test' } })
  t.match(start, { status: 200, headers: { 'strict-transport-security': 'max-age=600' } })
  const key = { host: 'hutch.test', authorization: `Bearer ${s.host.first.adminKey}` }
  const at = await ask(port, { servername: 'hutch.test', path: '/default/sandboxes/web/port/1/', headers: key })
  t.match(at, { status: 502, headers: { 'strict-transport-security': 'max-age=600' } })
  const web = (await s.api('GET', '/sandboxes/web')).body
  t.equal(web.metadata.url, `https://127.0.0.1:${port}/default/sandboxes/web`)

  const { answer, host } = await s.preview('app', { public: false, hostHeader: 'preview' })
  t.match(answer.spec.url, `https://127.0.0.1:${port}/default/previews/`)
  const token = await s.token('app')
  const servername = host.replace(/:\d+$/, '')
  const path = `/a?svc_preview_token=${token}`
  const opened = await ask(port, { servername, path, headers: { host, 'x-forwarded-proto': 'http' } })
  t.match(JSON.parse(opened.text), { url: '/a', headers: { host, 'x-forwarded-proto': 'https' } })
  const [, cookie = ''] = opened.headers['set-cookie'] as string[]
  t.match(cookie, /^__Host-svc_preview_token=[\w-]+; Path=\/; HttpOnly; SameSite=Lax; Secure$/)
  const again = await ask(port, { servername, path: '/b', headers: { host, cookie: cookie.split(';')[0] } })
  t.equal(again.status, 200)

  const led = plainRequest({ host: '127.0.0.1', port: s.httpPort, path: '/a?b', headers: { host: 'hutch.test:80' } })
  const [answered] = await once(led.end(), 'response')
  t.match([answered.statusCode, answered.headers.location], [308, `https://hutch.test:${port}/a?b`])
  answered.resume()
})

t.test('where plain HTTP leads', async t => {
  t.equal(secureAddress('a.example', '/x', 443), 'https://a.example/x')
  t.equal(secureAddress('[::1]:80', '/', 8443), 'https://[::1]:8443/')
  for (const host of [undefined, '', 'a b', 'a.example/x', 'user@a.example'])
    t.equal(secureAddress(host, '/', 443), undefined)
  t.equal(secureAddress('a.example', 'http://b.example/', 443), undefined)
})

t.test('HTTP/2 is routed by the authority, whichever name the handshake had', async t => {
  const s = await previewHost(t, { config: { tls } })
  const { host } = await s.preview('app', { hostHeader: 'preview' })
  const client = await session(t, s.port, 'hutch.test')
  const seen = await over(client, {
    ':path': '/a?b',
    ':authority': host,
    cookie: ['a=1', 'b=2'],
    'x-svc-authorization': `Bearer ${s.host.first.adminKey}`,
  })
  t.match(seen, { status: 200, headers: { 'set-cookie': ['app=1'], 'x-frame-options': 'DENY' } })
  const { headers, url } = JSON.parse(seen.text)
  t.match({ headers, url }, { url: '/a?b', headers: { host, cookie: 'a=1; b=2', 'x-forwarded-host': host } })
  t.equal(Object.hasOwn(headers, 'x-svc-authorization'), false)
  t.equal(Object.hasOwn(headers, ':authority'), false)
  const key = { authorization: `Bearer ${s.host.first.adminKey}` }
  const listed = await over(client, { ':path': '/v0/sandboxes', ':authority': 'hutch.test', ...key })
  t.match(JSON.parse(listed.text), [{ metadata: { name: 'web' } }])
  t.equal((await over(client, { ':path': '/v0/sandboxes', ':authority': 'hutch.test' })).status, 401)
  const body = JSON.stringify({ metadata: { name: 'second' }, spec: { runtime: { image: 'busybox' } } })
  const made = await over(
    client,
    { ':method': 'POST', ':path': '/v0/sandboxes', ':authority': 'hutch.test', ...key },
    body,
  )
  t.match([made.status, JSON.parse(made.text).metadata.name], [200, 'second'])
  const other = await over(client, { ':path': '/', ':authority': host, host: 'other.example' }).catch(() => undefined)
  t.not(other?.status, 200, 'two names are one too many')
  t.equal((await over(client, { ':method': 'CONNECT', ':authority': 'hutch.test:443' })).status, 404)
  // A socket of HTTP/1.1 beside it.
  const options = { ca, servername: 'hutch.test', headers: { host } }
  const socket = new WebSocket(`wss://127.0.0.1:${s.port}/hot`, options as object)
  const [said] = await once(socket, 'message')
  t.match(JSON.parse(String(said)), { url: '/hot', headers: { host, 'x-forwarded-proto': 'https' } })
  socket.terminate()
})

t.test('what HTTP/2 does not take of an answer ends nobody', async t => {
  const s = await previewHost(t, { config: { tls } })
  const twice = { 'X-Content-Type-Options': 'nosniff', 'x-content-type-options': 'nosniff', Expires: '0', expires: '1' }
  const { host } = await s.preview('app', { responseHeaders: { ...twice, 'HTTP2-Settings': 'x' } })
  const client = await session(t, s.port, 'hutch.test')
  const seen = await over(client, { ':path': '/', ':authority': host })
  t.match(seen, { status: 200, headers: { 'x-content-type-options': 'nosniff', expires: '0' } })
  t.equal(Object.hasOwn(seen.headers, 'http2-settings'), false)
})

t.test('a body of HTTP/2 that is cut is not a whole one, and an answer that is cut neither', async t => {
  const s = await previewHost(t, { config: { tls } })
  const { host } = await s.preview('app')
  const client = await session(t, s.port, 'hutch.test')
  const head = { ':method': 'POST', ':authority': host }
  const whole = await over(client, { ...head, ':path': '/body' }, 'abc')
  t.equal(whole.text, 'abc', 'without a length')
  const hand = await byHand(t, s.port)
  const fields = { ':method': 'POST', ':scheme': 'https', ':path': '/stream', ':authority': host }
  hand.write(Buffer.concat([frame(1, 4, 1, literals(fields)), frame(0, 0, 1, Buffer.from('begun'))]))
  t.equal(await s.said('piece'), 'begun')
  hand.write(frame(3, 0, 1, Buffer.from([0, 0, 0, 8])))
  t.equal(await s.said('ended'), 'aborted', 'the stream was reset')
  const lost = await session(t, s.port, 'hutch.test')
  const cut = lost.request({ ...head, ':path': '/stream' })
  cut.on('error', () => undefined)
  cut.write('begun')
  t.equal(await s.said('piece'), 'begun')
  lost.destroy()
  t.equal(await s.said('ended'), 'aborted', 'the connection was lost')

  const falling = client.request({ ':path': '/falls', ':authority': host })
  await once(falling, 'response')
  falling.resume()
  const [error] = await once(falling, 'error')
  t.match(error.code, /ERR_HTTP2_STREAM_ERROR/)
})

t.test('files are read again; what cannot be used is said, and what was before is kept', async t => {
  const own = t.testdir({ live: { 'a.example': {} } })
  const at = join(own, 'live', 'a.example')
  const put = (names: string[]) => {
    const { cert, key } = authority.sign(join(own, 'made'), names)
    copyFileSync(key, join(at, 'privkey.pem'))
    copyFileSync(cert, join(at, 'fullchain.pem'))
  }
  put(['a.example'])
  const lines: { event: string; fields: object | undefined }[] = []
  const note = (event: string, fields?: object) => void lines.push({ event, fields })
  const clock = fakeClock()
  const told = { ...silentLog, error: note, info: note }
  const changes: number[] = []
  const changed = () => changes.push(1)
  const waitForNext = async () => {
    const before = changes.length
    await clock.tick(5_000)
    while (changes.length === before) await new Promise(resolve => setTimeout(resolve, 2))
  }
  const certificates = await openCertificates(
    { cert: '', key: '', dir: join(own, 'live') },
    { clock, log: told },
    changed,
  )
  t.teardown(certificates.close)
  const first = certificates.find('A.example')
  t.ok(first)
  t.equal(certificates.find('b.example'), undefined)
  t.equal(certificates.first(), first)
  await waitForNext()
  t.equal(certificates.find('a.example'), first, 'the same file is the same certificate')
  put(['a.example', '*.b.example'])
  await waitForNext()
  t.not(certificates.find('a.example'), first)
  t.ok(certificates.find('x.b.example'))
  t.equal(certificates.find('y.x.b.example'), undefined, 'one label')
  const good = certificates.find('a.example')
  writeFileSync(join(at, 'fullchain.pem'), 'nonsense')
  lines.length = 0
  await waitForNext()
  await waitForNext()
  t.equal(certificates.find('a.example'), good)
  t.match(lines, [{ event: 'tls.certificate_refused', fields: { keepsOld: true } }], 'said once')
  rmSync(at, { recursive: true })
  await waitForNext()
  t.equal(certificates.find('a.example'), good, 'no certificates at all are a mistake')
})

t.test('what cannot be served with is refused by its variable', async t => {
  const load = (env: Record<string, string>) => loadConfig(env, '/cwd')
  t.match(load({ HUTCH_TLS_CERT: 'a.pem', HUTCH_TLS_KEY: 'b.pem', HUTCH_HTTP_PORT: '80' }).tls, {
    cert: '/cwd/a.pem',
    key: '/cwd/b.pem',
    httpPort: 80,
    hstsSeconds: 0,
  })
  t.throws(() => load({ HUTCH_TLS_CERT: 'a.pem' }), { message: /^HUTCH_TLS_KEY: / })
  t.throws(() => load({ HUTCH_TLS_KEY: 'a.pem' }), { message: /^HUTCH_TLS_CERT: / })
  t.throws(() => load({ HUTCH_HTTP_PORT: '80' }), { message: /^HUTCH_HTTP_PORT: means nothing without TLS/ })
  const open = (files: object) =>
    openCertificates({ cert: '', key: '', dir: '', ...files }, { clock: fakeClock(), log: silentLog }, () => undefined)
  await t.rejects(open({ dir: '/nowhere' }), { message: /^HUTCH_TLS_DIR: / })
  await t.rejects(open({ dir: t.testdir({}) }), { message: /has no certificate with its key/ })
  const [cert, key] = [join(dir, 'api.crt'), join(dir, 'previews.key')]
  await t.rejects(open({ cert, key }), { message: /^HUTCH_TLS_CERT: .*the key is that of another certificate/ })
})

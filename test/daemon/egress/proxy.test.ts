/** Programs of the sandbox → the shim → a proxy outside → a server, over real sockets. */
import '../../support/native.ts'
import { once } from 'node:events'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, request, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { loadConfig } from '../../../daemon/config/config.ts'
import { parseFlags } from '../../../daemon/config/flags.ts'
import type { Core } from '../../../daemon/core.ts'
import { beginEgress } from '../../../daemon/egress/index.ts'
import type { SealTerms } from '../../../daemon/own-files/seal.ts'
import { createEnvironment } from '../../../daemon/environment.ts'
import { systemClock, type Clock } from '../../../shared/clock.ts'
import { closing } from '../../../shared/closing.ts'
import { jsonLog, silentLog } from '../../../shared/log.ts'
import { raw } from '../../support/raw.ts'

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`

const listening = async (t: Test, server: Server, host = '127.0.0.1', port = 0): Promise<number> => {
  server.listen(port, host)
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

/** A proxy that lets in who knows the token; it connects and forwards. */
const proxy = async (t: Test, token: { now: string }) => {
  const asked: string[] = []
  const allowed = ({ headers }: IncomingMessage) => headers['proxy-authorization'] === basic(`user:${token.now}`)
  const server = createServer((message, response) => {
    asked.push(`${message.method} ${message.url} ${JSON.stringify(message.headers['x-hop'])}`)
    if (!allowed(message)) return void response.writeHead(407).end('who are you')
    if (message.url?.includes('/gone')) return void response.destroy()
    const onward = request(message.url ?? '', { method: message.method, headers: { 'x-via': 'proxy' } }, answer => {
      response.writeHead(answer.statusCode ?? 0, answer.rawHeaders)
      answer.pipe(response)
    })
    message.pipe(onward)
  })
  server.on('connect', (message: IncomingMessage, client, head) => {
    asked.push(`CONNECT ${message.url}`)
    const refuse = (status: string, body: string) =>
      client.end(`HTTP/1.1 ${status}\r\nProxy-Error: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    if (!allowed(message)) return void refuse('407 Proxy Authentication Required', 'who are you')
    if (message.url?.startsWith('blocked')) return void refuse('403 Forbidden', 'not there')
    const [host, port] = (message.url ?? '').split(':')
    const far = connect(Number(port), host, () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n')
      far.write(head)
      client.pipe(far).pipe(client)
    })
    for (const socket of [client, far]) socket.on('error', () => [client, far].map(one => one.destroy()))
  })
  return { asked, port: await listening(t, server) }
}

const serve = (t: Test, listener: RequestListener) => listening(t, createServer(listener))

/** The start of a daemon, as far as its way out goes. `port` 0 takes a free one. */
const start = async (
  t: Test,
  env: Record<string, string>,
  options: { changes?: Record<string, string>; clock?: Clock; dir?: string; port?: number; seal?: SealTerms } = {},
) => {
  const { changes, seal, port = 0, clock = systemClock(), dir = t.testdir({}) } = options
  const lines: string[] = []
  const log = jsonLog({ level: 'info', now: clock.now, write: line => void lines.push(line) })
  const config = loadConfig({
    env: {
      SANDBOX_PROXY_STATE_FILE: join(dir, 'proxy.json'),
      SANDBOX_MERGED_CA_PATH: join(dir, 'made/ca.crt'),
      ...env,
    },
    flags: parseFlags([]),
    cwd: dir,
  })
  const environment = createEnvironment(config.environment, changes)
  const stop = closing({ log: silentLog })
  t.teardown(stop.close)
  const core = {
    config: { ...config, localProxyPort: port },
    environment,
    hostConfiguration: { document: () => ({ machine: { id: 'm', seal } }) },
    clock,
    log,
    closing: stop,
  } as unknown as Core
  await beginEgress(core)
  return { environment, lines, dir, stop, shim: Number(/:(\d+)$/.exec(environment.get('HTTP_PROXY') ?? '')?.[1]) }
}

const get = async (port: number, path: string, body?: string, headers = {}) => {
  const asked = request({ host: '127.0.0.1', port, path, method: body === undefined ? 'GET' : 'POST', headers })
  asked.end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return { status: answer.statusCode, headers: answer.headers, text: await text(answer) }
}

t.test('requests and tunnels go out with the token of now, which no variable holds', async t => {
  const token = { now: 'first' }
  const outside = await proxy(t, token)
  const dir = t.testdir({ token: 'first\n' })
  const target = await serve(t, async (message, response) => {
    response.writeHead(201, { 'set-cookie': ['a', 'b'], connection: 'close', 'x-saw': message.headers['x-via'] ?? '' })
    response.end(`${message.method} ${message.url} ${await text(message)}`)
  })
  const { environment, shim, lines } = await start(
    t,
    {
      HTTP_PROXY: `http://user:{{file(${dir}/token)}}@127.0.0.1:${outside.port}`,
      https_proxy: 'http://plain',
      NO_PROXY: 'x',
    },
    { dir },
  )
  t.ok(shim > 0, lines.join(''))
  t.equal(environment.get('https_proxy'), 'http://plain', 'a plain value stays')
  t.equal(environment.get('NO_PROXY'), 'x,localhost,127.0.0.1,::1')
  t.equal(environment.get('no_proxy'), 'localhost,127.0.0.1,::1')
  t.notMatch(JSON.stringify(environment.all()), /first|\{\{/)
  const answer = await get(shim, `http://127.0.0.1:${target}/a?b`, 'body', { 'x-hop': '1', connection: 'x-hop' })
  t.match(answer, { status: 201, text: 'POST /a?b body', headers: { 'x-saw': 'proxy', 'set-cookie': ['a', 'b'] } })
  t.equal(outside.asked.at(-1), `POST http://127.0.0.1:${target}/a?b undefined`, 'headers of one hop stay behind')
  t.equal((await get(shim, '/a')).status, 400)
  t.equal((await get(shim, `http://127.0.0.1:${target}/gone`)).status, 502)

  const tunnel = await raw(t, shim)
  tunnel.send(`CONNECT 127.0.0.1:${target} HTTP/1.1\r\nHost: x\r\n\r\n`)
  await tunnel.seen(/^HTTP\/1\.1 200 Connection Established\r\n\r\n$/)
  tunnel.send('GET /inside HTTP/1.1\r\nHost: x\r\n\r\n')
  await tunnel.seen(/GET \/inside/)
  const blocked = await raw(t, shim)
  blocked.send('CONNECT blocked:443 HTTP/1.1\r\nHost: x\r\n\r\n')
  t.match(await blocked.ended, /^HTTP\/1\.1 403 [^]*403 not there\n$/)
  t.notMatch(blocked.text(), /Proxy-Error/)

  // Rotated: the old one is refused once, the file looked at again.
  token.now = 'second'
  writeFileSync(join(dir, 'token'), 'second')
  t.equal((await get(shim, `http://127.0.0.1:${target}/c`)).status, 201)
  token.now = 'third'
  writeFileSync(join(dir, 'token'), 'third')
  const again = await raw(t, shim)
  again.send(`CONNECT 127.0.0.1:${target} HTTP/1.1\r\nHost: x\r\n\r\n`)
  await again.seen(/200 Connection Established/)
  writeFileSync(join(dir, 'token'), '')
  t.equal((await get(shim, `http://127.0.0.1:${target}/d`)).status, 201, 'an empty file keeps the token')
})

t.test('a request whose body is gone is not sent twice', async t => {
  const outside = await proxy(t, { now: 'right' })
  const dir = t.testdir({ token: 'wrong' })
  const { shim } = await start(
    t,
    { HTTP_PROXY: `http://user:{{file(${dir}/token)}}@127.0.0.1:${outside.port}` },
    { dir },
  )
  t.match(await get(shim, 'http://nowhere/', 'body'), { status: 407, text: 'who are you' })
  t.equal(outside.asked.length, 1)
  t.equal((await get(shim, 'http://nowhere/')).status, 407)
  t.equal(outside.asked.length, 3)
})

t.test('without any token, or without the proxy, programs hear 502', async t => {
  const dir = t.testdir({ token: 'x' })
  const nobody = await start(t, { HTTP_PROXY: `http://user:{{file(${dir}/none)}}@127.0.0.1:1` }, { dir })
  t.match(await get(nobody.shim, 'http://x/'), { status: 502, text: /no token/ })
  const away = await start(t, { HTTP_PROXY: `http://user:{{file(${dir}/token)}}@127.0.0.1:1` }, { dir })
  t.match(await get(away.shim, 'http://x/'), { status: 502 })
  const tunnel = await raw(t, away.shim)
  tunnel.send('CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n')
  t.match(await tunnel.ended, /^HTTP\/1\.1 502 /)
})

t.test('the daemon that comes after uses the same port, from the state or from what it was started with', async t => {
  const dir = t.testdir({ token: 'x' })
  const value = `http://user:{{file(${dir}/token)}}@127.0.0.1:1`
  const first = await start(t, { HTTP_PROXY: value }, { dir })
  const path = join(dir, 'proxy.json')
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.same(JSON.parse(readFileSync(path, 'utf8')), { version: 2, port: first.shim, templates: { HTTP_PROXY: value } })
  await first.stop.close()
  const changed = `http://localhost:${first.shim}`
  const restored = await start(t, { HTTP_PROXY: changed }, { dir, port: 1 })
  t.equal(restored.shim, first.shim)
  t.match(await get(restored.shim, 'http://x/'), { status: 502 })
  await restored.stop.close()
  rmSync(path)
  const upgraded = await start(t, { HTTP_PROXY: value }, { dir, port: first.shim, changes: { HTTP_PROXY: changed } })
  t.match(await get(upgraded.shim, 'http://x/'), { status: 502 })
  await upgraded.stop.close()
  for (const [what, state, mode] of [
    ['corrupt', '{', 0o600],
    ['of another version', `{"version":1,"port":${first.shim},"templates":{"HTTP_PROXY":"${value}"}}`, 0o600],
    ['of no port', `{"version":2,"port":0,"templates":{"HTTP_PROXY":"${value}"}}`, 0o600],
    ['others may read or write', `{"version":2,"port":${first.shim},"templates":{"HTTP_PROXY":"${value}"}}`, 0o666],
  ] as const) {
    rmSync(path, { force: true })
    writeFileSync(path, state, { mode })
    const { environment, lines } = await start(t, { HTTP_PROXY: 'http://plain' }, { dir })
    t.equal(environment.get('HTTP_PROXY'), 'http://plain', what)
    t.same(lines, [], what)
  }
})

t.test('with a seal, a state that the daemon has not written points nobody to another proxy', async t => {
  const seal = { key: Buffer.alloc(32, 'k').toString('base64url'), legacy: false }
  const dir = t.testdir({ token: 'first' })
  const path = join(dir, 'proxy.json')
  const template = `http://user:{{file(${dir}/token)}}@127.0.0.1:9`
  const first = await start(t, { HTTP_PROXY: template }, { dir, seal })
  await first.stop.close()
  const later = async () => {
    const next = await start(t, {}, { dir, seal })
    await next.stop.close()
    return next.environment.get('HTTP_PROXY')
  }
  t.equal(await later(), `http://localhost:${first.shim}`, 'its own is believed')
  const own = readFileSync(path, 'utf8')
  for (const forged of [own.replace('127.0.0.1:9', '127.0.0.1:8'), own.replace(/,"seal".*/, '}')]) {
    t.not(forged, own)
    writeFileSync(path, forged)
    t.equal(await later(), undefined)
  }
})

t.test('a value with two directives is left alone, and said', async t => {
  const { environment, lines } = await start(t, { HTTP_PROXY: 'http://{{file(/a)}}:{{file(/b)}}@x' })
  t.equal(environment.get('HTTP_PROXY'), 'http://{{file(/a)}}:{{file(/b)}}@x')
  t.match(lines.join(''), /egress\.proxy-ignored/)
})

t.test('where nobody can listen the token is in the variables, and read again', async t => {
  const port = await serve(t, () => {})
  await listening(t, createServer(), '::1', port).catch(() => t.comment('no IPv6 here'))
  const dir = t.testdir({ token: 'one' })
  let refresh = () => {}
  const clock: Clock = {
    ...systemClock(),
    sleep: async () => {},
    every: (_ms, run) => {
      refresh = run
      return () => {}
    },
  }
  const { environment } = await start(
    t,
    { HTTP_PROXY: `http://user:{{file(${dir}/token)}}@proxy` },
    { dir, clock, port },
  )
  t.equal(environment.get('HTTP_PROXY'), 'http://user:one@proxy')
  writeFileSync(join(dir, 'token'), 'two')
  refresh()
  t.equal(environment.get('HTTP_PROXY'), 'http://user:two@proxy')
})

t.test('no file of /proc is a token', async t => {
  const dir = t.testdir({ link: t.fixture('symlink', '/proc/self/environ') })
  for (const path of ['/proc/self/environ', join(dir, 'link')]) {
    const { shim } = await start(
      t,
      { HTTP_PROXY: `http://u:{{file(${path})}}@127.0.0.1:1` },
      { dir: t.testdir({ link: t.fixture('symlink', '/proc/self/environ') }) },
    )
    t.match(await get(shim, 'http://x/'), { status: 502, text: /no token/ }, path)
  }
})

t.test('extra certificates are merged into a bundle that every program is pointed to', async t => {
  const pem = '-----BEGIN CERTIFICATE-----\nxx\n-----END CERTIFICATE-----\n'
  const dir = t.testdir({ 'extra.pem': pem, 'system.pem': 'SYSTEM', 'no.pem': 'nothing', made: {} })
  const merged = join(dir, 'made/ca.crt')
  const given = { SANDBOX_EXTRA_CA_CERTS: join(dir, 'extra.pem'), SSL_CERT_FILE: join(dir, 'system.pem') }
  const { environment } = await start(t, given, { dir })
  t.equal(readFileSync(merged, 'utf8'), `SYSTEM\n${pem}`)
  t.equal(statSync(merged).mode & 0o777, 0o644)
  for (const name of ['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'CURL_CA_BUNDLE']) t.equal(environment.get(name), merged)
  t.equal(environment.get('NODE_EXTRA_CA_CERTS'), join(dir, 'extra.pem'))
  t.match(environment.get('JAVA_TOOL_OPTIONS'), `-Djavax.net.ssl.trustStore=${merged}.jks`)
  t.equal(readFileSync(`${merged}.jks`).readUInt32BE(0), 0xfeedfeed)
  t.equal(statSync(`${merged}.jks`).mode & 0o777, 0o644)
  rmSync(merged)
  await start(t, { ...given, SSL_CERT_FILE: join(dir, 'none') }, { dir })
  t.equal(readFileSync(merged, 'utf8'), pem, 'a system without certificates is fine')
  for (const extra of [join(dir, 'none'), join(dir, 'no.pem'), dir]) {
    const { environment, lines } = await start(t, { SANDBOX_EXTRA_CA_CERTS: extra }, { dir })
    t.equal(environment.get('SSL_CERT_FILE'), undefined)
    t.match(lines.join(''), /egress\.certificates-failed/)
  }
  t.equal((await start(t, {}, { dir })).environment.get('SSL_CERT_FILE'), undefined)
})

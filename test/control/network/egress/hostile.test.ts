/** What one side says to end the server or to pass unseen: everything here is sent as bytes, because no library would. */
import { createServer, type Server } from 'node:net'
import { once } from 'node:events'
import { createServer as createHttp2 } from 'node:http2'
import t, { type Test } from 'tap'
import { createLastNet, type LastNet } from '../../../../control/base/last-net.ts'
import { boundedLog } from '../../../../control/network/egress/bounded-log.ts'
import { silentLog } from '../../../../shared/log.ts'
import { oddRequests } from '../../../support/odd-heads.ts'
import { startInternet } from '../../../support/internet/index.ts'
import { addresses, whyNoInternet } from '../../../support/internet/network.ts'
import { enterOwnNetwork } from '../../../support/tunnel-net.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoInternet())
enterOwnNetwork()
const net = createLastNet()
/** What every connection of a sandbox does besides, while it is set. */
let besides: (() => void) | undefined
const guard: LastNet['guard'] = (socket, log, begin) =>
  net.guard(socket, log, () => {
    besides?.()
    begin()
  })
const internet = await startInternet({}, undefined, { lastNet: { guard } })
t.teardown(internet.close)
const { sandbox, egress } = internet
/** In a server each of these would have ended it. */
const uncaught: unknown[] = []
process.on('uncaughtException', error => {
  if (!net.caught(error)) uncaught.push(error)
})

const frame = (type: number, flags: number, stream: number, payload: Buffer): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}
const text = (of: string): Buffer => Buffer.concat([Buffer.from([of.length]), Buffer.from(of)])
/** HPACK without a table: RFC 7541, section 6.2.2. */
const fields = (of: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat(Object.entries(of).map(([name, value]) => Buffer.concat([Buffer.from([0]), text(name), text(value)])))
const settings = frame(4, 0, 0, Buffer.alloc(0))
const moment = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

const listen = async (t: Test, server: Server, port: number): Promise<void> => {
  server.listen(port, addresses.single)
  await once(server, 'listening')
  t.teardown(() => server.close())
}

/** What a plain server gets by HTTP/1.1 when the sandbox has sent `bytes` to the proxy, and what it answers. */
const serveOnce = async (t: Test, port: number, answer: string | Buffer): Promise<string[]> => {
  const seen: string[] = []
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', piece => {
      seen.push(piece.toString('latin1'))
      if (seen.length === 1) socket.write(answer)
    })
  })
  await listen(t, server, port)
  return seen
}

const h2 = async (port: number, pieces: readonly Buffer[], more: Buffer = Buffer.alloc(0)): Promise<Buffer> => {
  const tunnel = await sandbox.tunnel(`single.example:${port}`)
  if ('status' in tunnel) throw new Error(`refused: ${tunnel.status}`)
  const heard: Buffer[] = []
  tunnel.on('data', piece => void heard.push(piece))
  tunnel.write(Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), settings]))
  const head = fields({ ':method': 'POST', ':scheme': 'http', ':path': '/x', ':authority': `single.example:${port}` })
  tunnel.write(Buffer.concat([frame(1, 4, 1, Buffer.concat([head, more])), ...pieces]))
  await moment(250)
  tunnel.destroy()
  return Buffer.concat(heard)
}

t.test('fields of the connection in HTTP/2, in trailers and in answers, end nothing', async t => {
  egress.setPolicy('sandbox', {})
  const bad = fields({ 'http2-settings': 'x' })
  await serveOnce(t, 9101, settings)
  await h2(9101, [frame(0, 0, 1, Buffer.from('hello')), frame(1, 5, 1, bad)])
  const answer = (...more: Buffer[]) => Buffer.concat([settings, ...more])
  const ok = fields({ ':status': '200' })
  await serveOnce(t, 9102, answer(frame(1, 5, 1, Buffer.concat([ok, bad]))))
  await h2(9102, [frame(0, 1, 1, Buffer.from('hello'))])
  await serveOnce(t, 9103, answer(frame(1, 4, 1, ok), frame(1, 5, 1, bad)))
  await h2(9103, [frame(0, 1, 1, Buffer.from('hello'))])
  await serveOnce(t, 9104, answer(frame(1, 4, 1, Buffer.concat([fields({ ':status': '103' }), bad]))))
  await h2(9104, [frame(0, 1, 1, Buffer.from('hello'))])
  t.same(uncaught, [])
  t.same(internet.errors, [])
})

t.test('fields of HTTP/2 that are none arrive nowhere', async t => {
  egress.setPolicy('sandbox', {})
  const seen: string[] = []
  const server = createHttp2()
  server.on('sessionError', () => {})
  server.on('stream', (stream, headers) => {
    seen.push(JSON.stringify(headers))
    stream.respond({ ':status': 204 }, { endStream: true })
  })
  await listen(t, server, 9121)
  const ask = (more: Record<string, string>) => h2(9121, [frame(0, 1, 1, Buffer.from('x'))], fields(more))
  await ask({ 'x-good': 'token' })
  t.match(seen.splice(0), [/token/])
  // Their requests arrive without them.
  await Promise.all(
    [{ '': 'token' }, { 'x token': 'y' }, { 'x:token': 'y' }, { x: 'a\r\ntoken: 1' }, { x: 'token\0' }].map(ask),
  )
  t.notMatch(seen.splice(0).join(), /token/)
  const ends = [
    { 'X-Token': 'y' },
    { ':path': '/token' },
    { ':token': 'y' },
    { ':protocol': 'websocket' },
    { connection: 'x' },
  ]
  await Promise.all([...ends, { 'transfer-encoding': 'chunked' }, { 'content-length': '7' }].map(ask))
  t.same(seen, [])
  t.same(internet.errors, [])
})

t.test('an exception of one connection ends that one, through the proxy and past it', async t => {
  egress.setPolicy('sandbox', {})
  besides = () =>
    setTimeout(() => {
      throw new Error('of one connection')
    }, 5)
  for (const open of [sandbox.proxy, () => sandbox.dial(addresses.single, 80)]) {
    const socket = await open()
    await once(socket.resume(), 'close')
    t.match(internet.errors.pop(), { event: 'connection.threw', fields: { from: addresses.sandbox } })
  }
  besides = undefined
  t.match(await sandbox.get('http://single.example/'), { status: 200 })
  t.same(uncaught, [])
})

t.test('a field that may stand once and stands twice is a bad request, and no error of this host', async t => {
  egress.setPolicy('sandbox', {})
  let asked = 0
  const server = createHttp2()
  server.on('stream', stream => {
    asked++
    stream.respond({ ':status': 204 }, { endStream: true })
  })
  await listen(t, server, 9109)
  const kind = fields({ 'content-type': 'text/plain' })
  const send = (more: Buffer) => h2(9109, [frame(0, 1, 1, Buffer.from('hello'))], more)
  // The first field of the answer, indexed: RFC 7541, appendix A has 204 as 9, 400 as 12.
  const status = (bytes: Buffer) => /\x01[\x04\x05]\0\0\0\x01([^])/.exec(bytes.toString('latin1'))?.[1]?.charCodeAt(0)
  t.equal(status(await send(kind)), 0x80 | 9)
  t.equal(status(await send(Buffer.concat([kind, kind]))), 0x80 | 12)
  t.equal(asked, 1)
  t.same(internet.errors, [])
  const lines: (object | undefined)[] = []
  let now = 0
  const log = boundedLog({ ...silentLog, error: (_, line) => void lines.push(line) }, { now: () => now })
  for (let at = 0; at < 1_000; at++) log.error('x', { at })
  now = 3_001
  log.error('x', {})
  t.equal(lines.length, 21)
  t.same(lines.at(-1), { leftOut: 980 })
})

t.test('odd heads are refused, and nothing of them arrives', async t => {
  egress.setPolicy('sandbox', {})
  const seen = await serveOnce(t, 9110, '')
  const host = 'single.example:9110'
  const heads = Object.entries(oddRequests(host, `http://${host}/`))
  const said = await Promise.all(heads.map(([, head]) => sandbox.say(Buffer.from(`${head}\r\n\r\n`, 'latin1'))))
  for (const [at, [name]] of heads.entries()) t.match(said[at], /^(HTTP\/1\.1 400 |$)/, name)
  t.same(seen, [])
})

t.test('who waits to be asked for a body is asked by nobody where it may not go', async t => {
  egress.setPolicy('sandbox', { forbiddenDomains: ['single.example'] })
  const head = (host: string) =>
    `POST http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n`
  t.match(await sandbox.say(head('single.example')), /^HTTP\/1\.1 403/)
  t.match(await sandbox.say(head('open.example')), /^HTTP\/1\.1 100/)
})

t.test('an early hint that is none is not passed on, and ends nothing', async t => {
  egress.setPolicy('sandbox', {})
  const hints = 'HTTP/1.1 103 Early Hints\r\nLink: nonsense\r\nLink: </a.css>; rel=preload\r\n\r\n'
  await serveOnce(t, 9105, `${hints}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`)
  const said = await sandbox.say('GET http://single.example:9105/ HTTP/1.1\r\nHost: single.example:9105\r\n\r\n')
  t.match(said, /103 Early Hints\r\nLink: <\/a\.css>; rel=preload\r\n\r\nHTTP\/1\.1 200/)
  t.notMatch(said, 'nonsense')
  t.same(uncaught, [])
})

t.test('trailers say nothing that a header would have been judged for, and canaries are seen in them', async t => {
  egress.setPolicy('sandbox', { canaries: { bait: 'never-to-leave-0123' } })
  const seen = await serveOnce(t, 9106, '')
  const trailers = 'X-HTTP-Method-Override: DELETE\r\nAuthorization: me\r\nX-Sum: never-to-leave-0123\r\n'
  const body = `5\r\nhello\r\n0\r\n${trailers}\r\n`
  const host = 'single.example:9106'
  await sandbox.say(`POST http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n${body}`)
  t.match(seen.join(''), 'X-Sum: never-to-leave-0123')
  t.notMatch(seen.join(''), /override|authorization/i)
  const told = egress.events('sandbox', 0, 100).events.filter(({ kind }) => kind === 'canary')
  t.match(told, [{ detail: 'bait' }])
})

t.test('requests that come at once are asked one after the other, and end with their connection', async t => {
  egress.setPolicy('sandbox', {})
  const open = new Set<object>()
  const server = createServer(socket => {
    open.add(socket)
    socket.on('error', () => {})
    socket.resume()
    socket.on('close', () => open.delete(socket))
  })
  await listen(t, server, 9107)
  const get = (host: string, path = '/') => `GET http://${host}${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`
  const socket = await sandbox.proxy()
  socket.write(get('single.example:9107').repeat(40))
  await moment(300)
  t.equal(open.size, 1)
  socket.destroy()
  const busy = await sandbox.proxy()
  busy.write(`${get('single.example:9107')}CONNECT single.example:9107 HTTP/1.1\r\nHost: single.example:9107\r\n\r\n`)
  const flood = await sandbox.proxy()
  flood.on('error', () => {})
  flood.write(get('single.example:9107').repeat(200))
  await moment(300)
  t.equal(open.size, 0)
  t.ok(flood.destroyed || flood.readableEnded, 'more than anybody asks for in advance ends the connection')
  const answers = await sandbox.say(['/one', '/two', '/three'].map(path => get('single.example', path)).join(''))
  t.same(answers.match(/"url":"[^"]*"/g), ['"url":"/one"', '"url":"/two"', '"url":"/three"'])
})

t.test('what a server says without being asked, and heads that wait, have a bound', async t => {
  egress.setPolicy('sandbox', {})
  const interim = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n'
  await serveOnce(t, 9110, `${interim.repeat(33)}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`)
  const get = (host: string, more = '') => `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`
  t.notMatch(await sandbox.say(get('single.example:9110')), ' 200 OK')
  const start = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n'
  await serveOnce(t, 9111, `${start}${`X-A: ${'a'.repeat(30_000)}\r\n`.repeat(3)}\r\n`)
  t.notMatch(await sandbox.say(get('single.example:9111')), /X-A/)
  const server = createHttp2()
  let told = 0
  server.on('stream', stream => {
    stream.on('error', () => {})
    for (let at = 0; at < 40; at++) stream.additionalHeaders({ ':status': 103, link: '</a.css>; rel=preload' })
    told++
    stream.respond({ ':status': 200 }, { endStream: true })
  })
  await listen(t, server, 9112)
  const session = await sandbox.h2(await sandbox.dial(addresses.single, 9112), 'single.example:9112')
  const stream = session.request({ ':path': '/', ':scheme': 'http', ':authority': 'single.example:9112' })
  let heard = 0
  stream.on('headers', () => heard++)
  stream.on('error', () => {})
  await Promise.race([once(stream, 'close'), once(stream, 'response')])
  session.destroy()
  t.equal(told, 1)
  t.ok(heard <= 32, `${heard}`)
  const busy = await sandbox.proxy()
  busy.on('error', () => {})
  await serveOnce(t, 9113, '')
  busy.write(get('single.example:9113'))
  for (let at = 0; at < 6; at++) busy.write(get('single.example:9113', `X-Fill: ${'f'.repeat(50_000)}\r\n`))
  await moment(200)
  t.ok(busy.destroyed || busy.readableEnded, 'heads that wait')
  t.same(uncaught, [])
})

t.test('bodies that are held for a sandbox have a bound, and many that ask for one name look it up once', async t => {
  const rule = { destinations: ['api.example'], headers: { 'x-key': '{{SECRET:key}}' }, secrets: { key: 'hush' } }
  egress.remove('sandbox')
  egress.setPolicy('sandbox', { routing: [rule] })
  const head = 'POST http://api.example/ HTTP/1.1\r\nHost: api.example\r\nContent-Length: '
  const many = await Promise.all(Array.from({ length: 64 }, () => sandbox.proxy()))
  for (const socket of many) socket.write(`${head}1048576\r\n\r\nx`)
  await moment(300)
  t.match(await sandbox.say(`${head}2\r\n\r\nok`), 'HTTP/1.1 503')
  for (const socket of many) socket.destroy()
  await moment(200)
  t.match(await sandbox.say(`${head}2\r\n\r\nok`), 'HTTP/1.1 200')
  egress.remove('sandbox')
  egress.setPolicy('sandbox', {})
  const tunnels = await Promise.all(Array.from({ length: 220 }, () => sandbox.tunnel('open.example:80')))
  t.same(new Set(tunnels.map(one => ('status' in one ? one.status : 200))), new Set([200]))
  for (const one of tunnels) if ('destroy' in one) one.destroy()
  t.same(uncaught, [])
})

t.test('streams of one connection are each held to the address of their host', async t => {
  const rule = { destinations: ['open.example'], headers: { 'x-key': '{{SECRET:key}}' }, secrets: { key: 'for-open' } }
  egress.setPolicy('sandbox', { allowedDomains: ['single.example', 'open.example'], routing: [rule] })
  const seen: unknown[] = []
  const server = createHttp2()
  server.on('stream', (stream, headers) => {
    seen.push(headers)
    stream.respond({ ':status': 200 }, { endStream: true })
  })
  await listen(t, server, 9108)
  for (const name of ['single.example', 'open.example']) await sandbox.resolve(name)
  const session = await sandbox.h2(await sandbox.dial(addresses.single, 9108), 'single.example:9108')
  const ask = async (host: string) => {
    const stream = session.request({ ':path': '/', ':scheme': 'http', ':authority': `${host}:9108` })
    const [headers] = await once(stream, 'response')
    return headers[':status']
  }
  t.equal(await ask('single.example'), 200)
  t.equal(await ask('open.example'), 403)
  t.equal(await ask('single.example'), 200)
  t.equal(seen.length, 2)
  t.notMatch(JSON.stringify(seen), 'for-open')
  session.destroy()
})

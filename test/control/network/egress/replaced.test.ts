/** What is under way when a new policy comes: from then on nothing passes that it would not have let begin. */
import { once } from 'node:events'
import { createServer } from 'node:http2'
import type { Socket } from 'node:net'
import t from 'tap'
import { startInternet } from '../../../support/internet/index.ts'
import { addresses, whyNoInternet } from '../../../support/internet/network.ts'
import { enterOwnNetwork } from '../../../support/tunnel-net.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoInternet())
enterOwnNetwork()
const internet = await startInternet()
t.teardown(internet.close)
const { sandbox, egress, reached } = internet
const moment = (ms = 60) => new Promise(resolve => setTimeout(resolve, ms))
t.beforeEach(() => egress.remove('sandbox'))
const hold = (policy: object) => egress.setPolicy('sandbox', policy)
const others = { allowedDomains: ['other.example'] }

/** Says more, and whether the connection is still there. */
const goesOn = async (socket: Socket, text: string): Promise<boolean> => {
  socket.on('error', () => {}).resume()
  if (!socket.destroyed) socket.write(text)
  await moment()
  const isThere = !socket.destroyed && !socket.readableEnded
  socket.destroy()
  return isThere
}
const opened = async (authority: string): Promise<Socket> => {
  const socket = await sandbox.tunnel(authority)
  if ('status' in socket) throw new Error(`refused: ${socket.status}`)
  return socket
}
const get = (host: string, path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`
const websocket = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n'

t.test('a request and a WebSocket end with their host, and with their path', async t => {
  for (const [first, then] of [
    [{}, others],
    [{ allowedDomains: ['open.example/'] }, { allowedDomains: ['open.example/other'] }],
    [{ forbiddenDomains: ['open.example/no'] }, { forbiddenDomains: ['open.example/go'] }],
  ]) {
    hold(first as object)
    const upload = await sandbox.proxy()
    upload.write(
      'POST http://open.example/go HTTP/1.1\r\nHost: open.example\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n',
    )
    const talk = await sandbox.proxy()
    talk.write(get('open.example', 'http://open.example/go', websocket))
    await once(talk, 'data')
    hold(then as object)
    t.equal(await goesOn(upload, '5\r\nlater\r\n'), false)
    t.equal(await goesOn(talk, 'later'), false)
    t.same(reached('later'), [])
  }
})

t.test('and so does a stream of HTTP/2, alone', async t => {
  hold({ allowedDomains: ['open.example/'] })
  const secured = await sandbox.tls(await opened('open.example:443'), {
    servername: 'open.example',
    ALPNProtocols: ['h2'],
  })
  const session = await sandbox.h2(secured, 'open.example')
  const stream = session.request({ ':method': 'POST', ':path': '/go', 'content-type': 'application/grpc' })
  stream.on('error', () => {})
  await once(stream, 'response')
  hold({ allowedDomains: ['open.example/other'] })
  await moment()
  t.equal(stream.closed, true)
  const [headers] = await once(session.request({ ':path': '/other' }), 'response')
  t.equal(headers[':status'], 200, 'the connection is still good for what is allowed')
  session.destroy()
})

t.test('a stream of HTTP/2 that comes later is on a connection that was judged by then', async t => {
  hold({ allowedDomains: ['single.example'] })
  let connections = 0
  const server = createServer().on('session', () => connections++)
  server.on('stream', stream => stream.respond({ ':status': 204 }, { endStream: true }))
  server.listen(9120, addresses.single)
  await once(server, 'listening')
  t.teardown(() => server.close())
  const session = await sandbox.h2(await opened('single.example:9120'), 'single.example:9120')
  const ask = () =>
    once(session.request({ ':path': '/', ':scheme': 'http', ':authority': 'single.example:9120' }).resume(), 'response')
  await ask()
  await ask()
  t.equal(connections, 1)
  hold({ allowedDomains: ['single.example', 'open.example'] })
  await ask()
  t.equal(connections, 2)
  session.destroy()
})

t.test('a tunnel that has said nothing yet, or waits for its server', async t => {
  hold({})
  const mail = await opened('mail.example:25')
  const direct = await sandbox.dial(addresses.single, 25)
  const waits = await opened('single.example:7000')
  await Promise.all([mail, direct].map(socket => once(socket, 'data')))
  await moment(100)
  const silent = await opened('single.example:7000')
  hold(others)
  for (const socket of [mail, direct, waits, silent]) t.equal(await goesOn(socket, 'too-late\n'), false)
  t.same(reached('too-late'), [])
})

t.test('a name that need not be true has to be now', async t => {
  const lists = { allowedDomains: ['open.example', 'attacker.example'] }
  hold({})
  const { attacker } = addresses
  const tls = await sandbox.tls(await sandbox.dial(attacker, 443), { servername: 'open.example' })
  const plain = await sandbox.dial(attacker, 80)
  plain.write(get('open.example', '/first'))
  await once(plain, 'data')
  hold(lists)
  await goesOn(tls, get('open.example', '/lie'))
  plain.write(get('open.example', '/lie'))
  await goesOn(plain, get('open.example', '/lie'))
  await sandbox.resolve('attacker.example')
  await goesOn(await sandbox.dial(attacker, 80), get('open.example', '/lie'))
  t.same(reached('/lie'), [])
})

t.test('what rules have no say on stays when they stay', async t => {
  const routing = [{ destinations: ['api.example'], headers: { 'x-key': 'put in' } }]
  hold({ routing })
  const tls = await sandbox.tls(await sandbox.dial(addresses.single, 443), { servername: 'single.example' })
  hold({ routing, canaries: { token: 'never-to-leave' } })
  t.equal(await goesOn(tls, get('single.example', '/goes-on')), true)
  t.equal(reached('/goes-on').length, 1)
})

t.test('a body that is held goes with the rules of now', async t => {
  const rule = (key: string) => ({
    routing: [{ destinations: ['api.example'], headers: { 'x-key': '{{SECRET:key}}' }, secrets: { key } }],
  })
  hold(rule('old-value'))
  const ask = async (): Promise<Socket> => {
    const socket = await sandbox.proxy()
    socket.write('POST http://api.example/held HTTP/1.1\r\nHost: api.example\r\nContent-Length: 2\r\n\r\n1')
    await moment()
    return socket
  }
  const first = await ask()
  hold(rule('new-value'))
  await goesOn(first, '2')
  t.same(reached('old-value'), [])
  const second = await ask()
  hold({ ...rule('new-value'), forbiddenDomains: ['other.example'] })
  t.equal(await goesOn(second, '2'), true, 'what is the same for it goes on')
  t.equal(reached('/held').filter(({ text }) => text.includes('new-value')).length, 1)
  t.same(internet.errors, [])
})

/** Connections that are made through a proxy of the host's network. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { connectThrough } from '../../../../control/network/egress/http/through-proxy.ts'
import { systemClock } from '../../../../shared/clock.ts'

const clock = systemClock()

/** Answers each CONNECT as `serve` says; writes down what it was asked. */
const proxy = async (t: Test, serve: (socket: Socket, place: string) => void, host = '127.0.0.1') => {
  const asked: string[] = []
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', piece => {
      const [, place = ''] = /^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(piece.toString()) ?? []
      asked.push(place)
      serve(socket, place)
    })
  })
  server.listen(0, host)
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { asked, at: { host, port: (server.address() as AddressInfo).port } }
}

t.test('bytes pass, the first of the server included', async t => {
  const place = await proxy(t, socket => {
    socket.write('HTTP/1.1 200 OK\r\nVia: x\r\n\r\n220 ready ')
    socket.on('data', piece => socket.write(piece.toString().toUpperCase()))
  })
  const made = await connectThrough(place.at, ['203.0.113.1', '203.0.113.2'], 25, clock)
  if (!made.ok) throw new Error(made.reason)
  made.socket.write('helo')
  let seen = ''
  for await (const piece of made.socket) if ((seen += String(piece)).includes('HELO')) break
  t.match([seen, made.address], ['220 ready HELO', '203.0.113.1'])
  t.same(place.asked, ['203.0.113.1:25'], 'the address that was judged')
})

t.test('an address that it cannot reach is followed by the next', async t => {
  const place = await proxy(t, (socket, wanted) =>
    socket.end(wanted.startsWith('203.0.113.2') ? 'HTTP/1.0 200 fine\r\n\r\n' : 'HTTP/1.1 502 no\r\n\r\n'),
  )
  t.match(await connectThrough(place.at, ['203.0.113.1', '203.0.113.2'], 443, clock), { address: '203.0.113.2' })
  t.match(await connectThrough(place.at, ['203.0.113.1'], 443, clock), { ok: false, reason: 'unreachable' })
})

t.test('what is no proxy is no way out', async t => {
  const endless = await proxy(t, socket => socket.write('x'.repeat(20_000)))
  t.match(await connectThrough(endless.at, ['203.0.113.1'], 443, clock), { ok: false })
  const silent = await proxy(t, socket => socket.end())
  t.match(await connectThrough(silent.at, ['203.0.113.1'], 443, clock), { ok: false })
  t.match(await connectThrough({ host: '127.0.0.1', port: 1 }, ['203.0.113.1'], 443, clock), { reason: 'unreachable' })
})

t.test('a proxy may be at an address of IPv6; what it is asked for never is', async t => {
  const place = await proxy(t, socket => socket.write('HTTP/1.1 200 OK\r\n\r\n'), '::1')
  const made = await connectThrough(place.at, ['203.0.113.1'], 443, clock)
  t.match(made, { ok: true, address: '203.0.113.1' })
  if (made.ok) made.socket.destroy()
  t.same(place.asked, ['203.0.113.1:443'])
})

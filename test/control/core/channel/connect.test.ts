/** What may stand in a daemon's place, and what it learns. */
import { hkdfSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { connectChannel, connectPlain } from '../../../../control/core/channel/connect.ts'
import { createConnections } from '../../../../control/core/channel/connections.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { createChannelKeys } from '../../../../control/core/channel/keys.ts'
import { nonceBytes, prefaceBytes } from '../../../../shared/channel.ts'
import { randomIds } from '../../../../shared/ids.ts'
import { fakeClock } from '../../../support/clock.ts'
import { freePort, keyedDaemon } from '../../../support/keyed.ts'

const key = Buffer.alloc(32, 7)

const standIn = async (t: Test, greet: (socket: Socket) => void) => {
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket.on('error', () => {}))
    greet(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port, machine: 'm', key }
}

t.test('a listener that is no daemon gets nothing', async t => {
  let heard = 0
  const listening = (greet: (socket: Socket) => void) =>
    standIn(t, socket => {
      socket.on('data', piece => (heard += piece.length))
      greet(socket)
    })
  for (const [name, greet, reason] of [
    ['one that closes', (socket: Socket) => socket.end(), /closed/],
    ['one that says too little', (socket: Socket) => socket.end('x'), /no daemon|closed/],
    ['one that says too much', (socket: Socket) => socket.write('x'.repeat(nonceBytes + 1)), /no daemon/],
    [
      'one that answers before it is asked',
      (socket: Socket) => socket.write(`HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(99)}`),
      /no daemon/,
    ],
  ] as const) {
    await t.rejects(connectChannel(await listening(greet), 'host'), reason, name)
    t.equal(heard, 0, name)
  }
  await t.rejects(connectPlain('127.0.0.1', await freePort()), { code: 'ECONNREFUSED' })
})

t.test('one that says nothing is given up', async t => {
  const place = await standIn(t, () => {})
  await t.rejects(connectChannel(place, 'host', 200), { code: 'ETIMEDOUT' })
})

t.test('what a stand-in hears is of no use at the daemon', async t => {
  const daemon = await keyedDaemon(t)
  const heard = Promise.withResolvers<Buffer>()
  const place = await standIn(t, socket => {
    socket.write(Buffer.alloc(nonceBytes, 1))
    socket.once('data', heard.resolve)
  })
  const socket = await connectChannel({ ...place, machine: 'm-1', key: daemon.key }, 'host')
  const bytes = await heard.promise
  socket.destroy()
  t.equal(bytes.length, prefaceBytes)
  t.notOk(bytes.includes(daemon.key))
  const replayed = await connectPlain('127.0.0.1', daemon.address.channel.port)
  await once(replayed, 'data')
  replayed.write(Buffer.concat([bytes, Buffer.from('GET /health HTTP/1.1\r\nhost: x\r\n\r\n')]))
  const got: Buffer[] = []
  replayed.on('data', piece => got.push(piece))
  await once(replayed, 'close')
  t.equal(Buffer.concat(got).length, 0)
})

t.test('a crowd that comes while the daemon is busy waits for its turn, and all are heard', async t => {
  const daemon = await keyedDaemon(t)
  daemon.process.kill('SIGSTOP')
  const health = async () => {
    const socket = await daemon.connections.open({ address: daemon.address }, 'client')
    socket.write('GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
    return (await text(socket)).slice(0, 12)
  }
  const all = Array.from({ length: 200 }, () => health().catch((error: Error) => error.message))
  await new Promise(resolve => setTimeout(resolve, 300))
  daemon.process.kill('SIGCONT')
  const said = new Set(await Promise.all(all))
  t.strictSame([...said], ['HTTP/1.1 200'])
})

t.test('each start of each machine has a key of its own', async t => {
  const keys = createChannelKeys('secret', randomIds())
  const one = keys.forStart('a')
  t.equal(Buffer.from(one.key, 'base64url').length, 32)
  t.ok(keys.keyOf('a', one.generation).equals(Buffer.from(one.key, 'base64url')), 'it is computed again')
  const known = Buffer.from(hkdfSync('sha256', 'secret', '', `channel\0a\0${one.generation}`, 32))
  t.ok(keys.keyOf('a', one.generation).equals(known), 'of RFC 5869: machines that run know it from a build before')
  const all = [one, keys.forStart('a'), keys.forStart('b')].map(start => start.key)
  const other = createChannelKeys('other', randomIds())
  t.equal(new Set([...all, other.keyOf('a', one.generation).toString('base64url')]).size, 4)
  t.notOk(keys.keyOf('a', one.generation).equals(keys.keyOf('b', one.generation)), 'also for the same start')
  t.notOk(keys.keyOf('a', 'b').equals(keys.keyOf('a\0b', '')))
})

t.test('connections of one role, start or machine are never those of another', async t => {
  const connections = createConnections({ keyOf: () => key }, systemClock())
  t.teardown(connections.close)
  const address = { host: '127.0.0.1', port: 1, channel: { port: 2, machine: 'm', generation: 'g' } }
  const pool = connections.pool({ address })
  t.equal(connections.pool({ address }), pool)
  t.not(connections.pool({ address, port: 1 }), pool)
  for (const change of [{ generation: 'h' }, { machine: 'n' }, { port: 3 }])
    t.not(connections.pool({ address: { ...address, channel: { ...address.channel, ...change } } }), pool)
  connections.forget('127.0.0.1')
  t.not(connections.pool({ address }), pool, 'those to a machine that is gone are dropped')
})

t.test('what a workload sends after its answer is nobody’s answer, however late it comes', async t => {
  const connections = createConnections({ keyOf: () => key }, systemClock())
  t.teardown(connections.close)
  const opened: Socket[] = []
  const { host, port } = await standIn(t, socket => void opened.push(socket))
  const to = { address: { host, port } }
  const first = await connections.take(to, 'client')
  connections.giveBack(first, 1_000)
  t.equal(await connections.take(to, 'client'), first, 'it is kept')
  connections.giveBack(first, 1_000)
  // The kernel has it at once, and node has not looked yet when the next one asks.
  opened[0]?.write('HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil')
  const next = await connections.take(to, 'client')
  t.not(next, first)
  t.ok(first.socket.destroyed)
  connections.giveBack(next, 1_000)
  opened[1]?.resetAndDestroy()
  t.not(await connections.take(to, 'client'), next, 'nor is a connection that has ended asked anything')
})

t.test('a pool that nobody asks is not kept; one that is asked, or answers still, is', async t => {
  const clock = fakeClock()
  const connections = createConnections({ keyOf: () => key }, clock)
  t.teardown(connections.close)
  const opened: Socket[] = []
  const { host, port } = await standIn(t, socket => void opened.push(socket))
  const of = (machine: string) => connections.pool({ address: { host: machine, port } })
  const [busy, used, unused] = [of(host), of('127.0.0.2'), of('127.0.0.3')]
  const asked = busy.request({ path: '/', method: 'GET' })
  while (opened.length === 0) await new Promise(resolve => setTimeout(resolve, 5))
  for (let at = 0; at < 6; at++) {
    await clock.tick(10_000)
    t.equal(of('127.0.0.2'), used)
  }
  t.equal(of(host), busy, 'it answers still')
  t.not(of('127.0.0.3'), unused)
  opened[0]?.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
  await (await asked).body.dump()
  for (let at = 0; at < 4; at++) await clock.tick(10_000)
  t.not(of(host), busy)
})

t.test('what is expected is opened ahead, while the daemon sleeps, and once', async t => {
  const connections = createConnections({ keyOf: () => key }, systemClock())
  t.teardown(connections.close)
  const awake = Promise.withResolvers<void>()
  const opened = new Set<Socket>()
  const { host, port, machine } = await standIn(t, async socket => {
    opened.add(socket)
    await awake.promise
    socket.write(Buffer.alloc(nonceBytes, 1))
    let heard = 0
    socket.on('data', piece => {
      heard += piece.length
      if (heard > prefaceBytes) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    })
  })
  const to = { address: { host, port: 1, channel: { port, machine, generation: 'g' } } }
  const until = async (look: () => boolean) => {
    while (!look()) await new Promise(resolve => setTimeout(resolve, 5))
  }
  const ask = async () => {
    const { signal } = new AbortController()
    const sending = { path: '/', method: 'GET', origin: `http://${host}`, headers: {}, signal } as const
    return (await connections.questions(to, 1_000).request(sending)).statusCode
  }
  connections.expect(to, 10_000)
  connections.expect(to, 10_000)
  await until(() => opened.size === 2)
  const asked = ask()
  awake.resolve()
  t.equal(await asked, 200)
  const far = await connections.take(to, 'client')
  t.equal(opened.size, 2, 'one for the host, and one for a client')
  connections.giveBack(far, 1_000)
  connections.expect(to, 10_000)
  t.equal(await ask(), 200)
  t.equal(await connections.take(to, 'client'), far)
  t.equal(opened.size, 2, 'none where one rests')
  connections.forget(host)
  await until(() => [...opened].every(socket => socket.destroyed || socket.readableEnded))
  t.pass('all end with the machine')
})

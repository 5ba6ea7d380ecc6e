/** Who gets in by the channel, and who does not. */
import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, Socket } from 'node:net'
import t, { type Test } from 'tap'
import WebSocket from 'ws'
import { createUnproven } from '../../../daemon/channel/unproven.ts'
import { nonceBytes, provenBytes, writePreface, type Role } from '../../../shared/channel.ts'
import { keyedDaemon, type KeyedDaemon } from '../../support/keyed.ts'

/** A connection that has the daemon's nonce. */
const greeted = async (t: Test, { address }: KeyedDaemon) => {
  const socket = connect(address.channel.port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => {})
  const [nonce] = (await once(socket, 'data')) as [Buffer]
  t.equal(nonce.length, nonceBytes)
  // Nothing is lost before `rest` reads it.
  socket.pause()
  return { socket, nonce }
}

const prefaceOf = (key: Buffer, nonce: Buffer, role: Role, machine: string): Buffer =>
  writePreface(
    role,
    createHmac('sha256', key)
      .update(provenBytes(nonce, role, machine))
      .digest(),
  )

/** All that comes until the connection is closed. */
const rest = async (socket: Socket): Promise<string> => {
  const pieces: Buffer[] = []
  socket.on('data', piece => pieces.push(piece)).resume()
  if (!socket.closed) await once(socket, 'close')
  return Buffer.concat(pieces).toString('latin1')
}

const activity = 'GET /system/activity HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'

t.test('a proof opens the connection for its role', async t => {
  const daemon = await keyedDaemon(t)
  for (const [role, status] of [
    ['host', 200],
    ['client', 403],
  ] as const) {
    const { socket, nonce } = await greeted(t, daemon)
    socket.write(prefaceOf(daemon.key, nonce, role, 'm-1'))
    socket.write(activity)
    t.match(await rest(socket), new RegExp(`^HTTP/1.1 ${status} `), role)
  }
  const { socket, nonce } = await greeted(t, daemon)
  for (const byte of Buffer.concat([prefaceOf(daemon.key, nonce, 'host', 'm-1'), Buffer.from(activity)])) {
    socket.write(Buffer.from([byte]))
    await new Promise(resolve => setImmediate(resolve))
  }
  t.match(await rest(socket), /^HTTP\/1.1 200 /, 'byte by byte')
  const other = await greeted(t, daemon)
  other.socket.write(Buffer.concat([prefaceOf(daemon.key, other.nonce, 'host', 'm-1'), Buffer.from(activity)]))
  t.match(await rest(other.socket), /^HTTP\/1.1 200 /, 'all at once')
})

t.test('what is no proof is closed without a word', async t => {
  const daemon = await keyedDaemon(t)
  const { key } = daemon
  const heard = await greeted(t, daemon)
  const good = prefaceOf(key, heard.nonce, 'host', 'm-1')
  heard.socket.write(Buffer.concat([good, Buffer.from(activity)]))
  t.match(await rest(heard.socket), /^HTTP\/1.1 200 /)
  const tries: Record<string, (nonce: Buffer) => Buffer> = {
    'bytes heard on another connection': () => good,
    'another key': nonce => prefaceOf(randomBytes(32), nonce, 'host', 'm-1'),
    'no key': nonce => prefaceOf(Buffer.alloc(0), nonce, 'host', 'm-1'),
    'another machine': nonce => prefaceOf(key, nonce, 'host', 'm-2'),
    'the role changed': nonce => {
      const bytes = prefaceOf(key, nonce, 'client', 'm-1')
      bytes[15] = 2
      return bytes
    },
    'a role that is none': nonce => {
      const bytes = prefaceOf(key, nonce, 'client', 'm-1')
      bytes[15] = 3
      return bytes
    },
    'another version': nonce => {
      const bytes = prefaceOf(key, nonce, 'host', 'm-1')
      bytes[14] = 0x32
      return bytes
    },
    'a plain request': () => Buffer.from(activity),
    nothing: () => Buffer.alloc(48),
  }
  for (const [name, bytesOf] of Object.entries(tries)) {
    const { socket, nonce } = await greeted(t, daemon)
    socket.write(Buffer.concat([bytesOf(nonce), Buffer.from(activity)]))
    t.equal(await rest(socket), '', name)
  }
})

t.test('those that say nothing are closed, and keep nobody out', async t => {
  const daemon = await keyedDaemon(t)
  const silent = Array.from({ length: 300 }, () => connect(daemon.address.channel.port, '127.0.0.1'))
  const closed = silent.map(socket =>
    once(
      socket.on('error', () => {}),
      'close',
    ),
  )
  t.teardown(() => {
    for (const socket of silent) socket.destroy()
  })
  for (const socket of silent) if (socket.connecting) await once(socket, 'connect')
  for (let i = 0; i < 20; i++) {
    const { status } = await daemon.ask(i % 2 ? 'host' : 'client', { method: 'GET', path: '/health' })
    t.equal(status, 200)
  }
  for (const socket of silent) socket.resume()
  await Promise.all(closed)
  t.pass('all are closed by the daemon')
})

t.test('of too many that have proved nothing the oldest is closed', t => {
  const unproven = createUnproven()
  t.teardown(unproven.closeAll)
  const [first, ...others] = Array.from({ length: 65 }, () => new Socket())
  for (const socket of [first, ...others]) if (socket) unproven.add(socket)
  t.ok(first?.destroyed)
  t.notOk(others.some(({ destroyed }) => destroyed))
  t.end()
})

t.test('connections come from the host alone', async t => {
  const { address } = await keyedDaemon(t, { from: '127.0.0.2' })
  const heardBy = async (localAddress: string) => {
    const socket = connect({ port: address.channel.port, host: '127.0.0.1', localAddress }).on('error', () => {})
    const [piece] = await Promise.race([once(socket, 'data'), once(socket, 'close')])
    socket.destroy()
    return Buffer.isBuffer(piece) ? piece.length : 0
  }
  t.equal(await heardBy('127.0.0.2'), 32, 'a nonce')
  t.equal(await heardBy('127.0.0.1'), 0, 'nothing')
})

t.test('a WebSocket keeps the role of its connection', async t => {
  const daemon = await keyedDaemon(t)
  const { address, connections } = daemon
  const open = await connections.open({ address }, 'client')
  const socket = new WebSocket('ws://daemon/terminal/ws', { createConnection: () => open })
  await once(socket, 'open')
  socket.terminate()
  const forbidden = 'GET /system/activity HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'
  for (const [role, status] of [
    ['client', 403],
    ['host', 200],
  ] as const) {
    const raw = await connections.open({ address }, role)
    raw.write(forbidden)
    t.match(await rest(raw), new RegExp(`^HTTP/1.1 ${status} `), role)
  }
})

t.test('a plain connection is a tenant, whatever it says', async t => {
  const { address } = await keyedDaemon(t)
  const send = async (text: string): Promise<string> => {
    const socket = connect(address.port, '127.0.0.1')
    socket.write(text)
    return rest(socket)
  }
  const close = 'connection: close\r\n\r\n'
  for (const text of [
    `GET /system/activity HTTP/1.1\r\nhost: x\r\n${close}`,
    `GET http://x/system/activity HTTP/1.1\r\nhost: x\r\n${close}`,
    `GET //system/activity HTTP/1.1\r\nhost: x\r\n${close}`,
    `GET /system/activity HTTP/1.1\r\nhost: x\r\nx-svc-subject-id: host\r\nx-forwarded-for: 10.0.0.1\r\n${close}`,
    'GET /system/activity HTTP/1.1\r\nhost: x\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQ\r\nconnection: upgrade, close\r\n\r\n',
    'GET /system/activity HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
    `GET /health HTTP/1.1\r\nhost: x\r\n\r\nGET /system/activity HTTP/1.1\r\nhost: x\r\n${close}`,
    `hutch-channel/1\u0002${'p'.repeat(32)}GET /system/activity HTTP/1.1\r\nhost: x\r\n${close}`,
    `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
  ])
    t.notMatch(await send(text), /keepAlive/, text.slice(0, 60))
})

t.test('a tenant loses the headers by which the gateway speaks, and nothing of what it sends', async t => {
  const { address } = await keyedDaemon(t)
  const send = async (line: string, type: string, ...pieces: string[]): Promise<string> => {
    const socket = connect(address.port, '127.0.0.1')
    const length = pieces.join('').length
    const fields = `host: x\r\nx-subject-id: host\r\ncontent-type: ${type}\r\ncontent-length: ${length}`
    socket.write(`${line} HTTP/1.1\r\n${fields}\r\nconnection: close\r\n\r\n${pieces[0]}`)
    for (const piece of pieces.slice(1)) {
      await new Promise(resolve => setTimeout(resolve, 5))
      socket.write(piece)
    }
    return rest(socket)
  }
  const [json, bytes] = ['application/json', 'application/octet-stream']
  t.match(await send('PUT /filesystem/a.txt', json, '{"content":"as JSON"}'), /^HTTP\/1\.1 200 /)
  t.match(await send('PUT /filesystem/b.txt', bytes, 'as bytes'), /^HTTP\/1\.1 200 /)
  t.match(await send('PUT /filesystem/c.txt', bytes, 'in ', 'pieces'), /^HTTP\/1\.1 200 /)
  for (const [name, content] of Object.entries({ a: 'as JSON', b: 'as bytes', c: 'in pieces' }))
    t.match(await send(`GET /filesystem/${name}.txt`, json, ''), `"content":"${content}"`)
})

t.test('a large body goes the fast way, also as the first request of a connection', async t => {
  const { address, connections } = await keyedDaemon(t)
  const content = randomBytes(8 * 1024 * 1024)
  for (const path of ['/filesystem/first.bin', '/filesystem/second.bin']) {
    const pool = connections.pool({ address })
    const put = await pool.request({
      method: 'PUT',
      path,
      body: content,
      headers: { 'content-type': 'application/octet-stream' },
    })
    await put.body.dump()
    t.equal(put.statusCode, 200)
    const got = await pool.request({ method: 'GET', path: `${path}?download=true` })
    t.ok(Buffer.from(await got.body.arrayBuffer()).equals(content), path)
  }
})

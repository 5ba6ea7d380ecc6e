/** Clients and workloads that do not keep to HTTP: neither may be told a lie, reach another's bytes, or harm the host. */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { exchange, raw } from '../../../../support/raw.ts'
import { until } from '../../../../support/until.ts'
import { testHost } from '../../../../support/whole-host.ts'
import { tlsPlace } from '../../../../support/tls-place.ts'

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

/** A sandbox behind a gateway; what its machine answers is written by hand, and what it is asked is kept by connection. */
const behind = async (t: Test, isSecure: boolean) => {
  const connections: { socket: Socket; text: string }[] = []
  let answer = (socket: Socket, _text: string): void => void socket.write(ok)
  const upstream = createServer(socket => {
    const one = { socket, text: '' }
    connections.push(one)
    socket.on('error', () => {
      // Resets are part of the game.
    })
    socket.on('data', piece => {
      one.text += piece.toString('latin1')
      answer(socket, piece.toString('latin1'))
    })
  })
  await new Promise<void>(resolve => upstream.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const { socket } of connections) socket.destroy()
    upstream.close()
  })
  const upstreamPort = (upstream.address() as AddressInfo).port
  const tls = isSecure ? tlsPlace() : undefined
  const made = await testHost(t, {
    ...(tls && { config: { tls: tls.config } }),
    serve: async () => ({ host: '127.0.0.1', port: upstreamPort, close: () => {} }),
  })
  const listening = await made.host.listen()
  await made.api('POST', '/sandboxes', { metadata: { name: 'web' }, spec: { runtime: { image: 'busybox' } } })
  await made.until('web', 'DEPLOYED')
  const port = tls ? tls.at(listening.port) : listening.port
  const credential = `Authorization: Bearer ${made.host.first.adminKey}\r\n`
  const head = (line: string, headers = '', connection = 'close') => {
    const [method = '', target = ''] = line.split(' ')
    return `${method} /default/sandboxes/web${target} HTTP/1.1\r\nHost: x\r\n${credential}Connection: ${connection}\r\n${headers}\r\n`
  }
  return {
    ...made,
    port,
    upstreamPort,
    connections,
    head,
    answering: (how: typeof answer) => {
      answer = how
    },
    /** Sends it and gives back the whole answer; the connection closes after it. */
    ask: (line: string, headers = '', body = '') => exchange(t, port, head(line, headers) + body),
    /** The requests that came, each with its connection's number. */
    asked: () => connections.map(({ text }) => text).filter(Boolean),
  }
}

/** A case of plain HTTP and of HTTPS: what the connection is read from must make no difference. */
const both = (name: string, run: (t: Test, isSecure: boolean) => Promise<void>): void => {
  for (const isSecure of [false, true]) void t.test(isSecure ? `${name}, by TLS` : name, t => run(t, isSecure))
}

both('bodies with two lengths never get past the gateway', async (t, isSecure) => {
  const { ask, asked } = await behind(t, isSecure)
  const smuggled = 'GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n'
  const chunked = `0\r\n\r\n${smuggled}`
  for (const headers of [
    `Content-Length: ${chunked.length}\r\nTransfer-Encoding: chunked\r\n`,
    `Transfer-Encoding: chunked\r\nContent-Length: ${chunked.length}\r\n`,
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n',
    'Transfer-Encoding: xchunked\r\n',
    'Transfer-Encoding : chunked\r\n',
    'Content-Length: 1\r\nContent-Length: 2\r\n',
    'Content-Length: +5\r\n',
    'Content-Length: 0x5\r\n',
    'X: a\r\n Transfer-Encoding: chunked\r\n',
    'Host: other\r\n',
  ])
    t.match(await ask('POST /x', headers, chunked), /^HTTP\/1\.1 400 [^]*\r\n\r\n$/, headers)
  t.same(asked(), [], 'nothing arrived')
})

both('a chunked body arrives as what it holds, and what follows it is another request', async (t, isSecure) => {
  const { head, port, asked } = await behind(t, isSecure)
  const connection = await raw(t, port)
  connection.send(
    head('POST /one', 'Transfer-Encoding: chunked\r\n', 'keep-alive') +
      '3;ext="\r\nGET"\r\nabc\r\n0\r\nTrailer: x\r\n\r\n',
  )
  t.match(await connection.ended, /^HTTP\/1\.1 400 /, 'a chunk extension with a line break is refused')
  const second = await raw(t, port)
  second.send(
    `${head('POST /two', 'Transfer-Encoding: chunked\r\n', 'keep-alive')}3;ext=1\r\nabc\r\n0\r\nTrailer: x\r\n\r\n${head('GET /three')}`,
  )
  t.equal((await second.ended).match(/HTTP\/1\.1 200 OK/g)?.length, 2)
  const all = asked().join('')
  t.match(all, /POST \/two HTTP\/1\.1\r\n[^]*content-length: 3\r\n\r\nabc/i)
  t.notMatch(all, /trailer|ext=/i)
})

both('an abandoned body does not become the next request of anybody', async (t, isSecure) => {
  const { head, port, ask, connections, answering } = await behind(t, isSecure)
  // Answered before the body is there: the connection to the workload is in the middle of a request then.
  const early = await raw(t, port)
  early.send(`${head('POST /early', 'Content-Length: 1000\r\n', 'keep-alive')}abc`)
  await early.seen(/200 OK/)
  early.socket.destroy()
  // And one whose client vanishes before any answer.
  answering(() => {})
  const silent = await raw(t, port)
  silent.send(`${head('POST /silent', 'Content-Length: 1000\r\n', 'keep-alive')}abc`)
  await until(async () => connections.some(({ text }) => text.includes('/silent')), 'the request')
  silent.socket.destroy()
  answering(socket => void socket.write(ok))
  for (const path of ['/a', '/b', '/c']) t.match(await ask(`GET ${path}`), /^HTTP\/1\.1 200 /)
  for (const { text } of connections)
    if (/\/early|\/silent/.test(text)) t.notMatch(text, /GET \/[abc] /, 'its connection is used for nothing else')
})

both(
  'long bodies are passed on unread: what follows them is another request, and what breaks off is not whole',
  async (t, isSecure) => {
    const { head, port, connections, answering, api } = await behind(t, isSecure)
    const long = 2 * 1024 * 1024
    const length = `Content-Length: ${long}\r\n`
    const answer = (socket: Socket, bytes: number) =>
      void socket.write(`HTTP/1.1 200 OK\r\n${length}\r\n${'x'.repeat(bytes)}`)
    // Up and down on one connection, with the next request right behind.
    answering((socket, text) => {
      if (text.includes('GET /down')) answer(socket, long)
      else if (connections.at(-1)?.text.endsWith('END')) socket.write(ok)
    })
    const both = await raw(t, port)
    both.send(head('POST /up', length, 'keep-alive'))
    both.send(`${'y'.repeat(long - 3)}END${head('GET /down')}`)
    const all = await both.ended
    t.equal(all.match(/HTTP\/1\.1 200 OK/g)?.length, 2)
    t.equal(all.length - all.lastIndexOf('\r\n\r\n') - 4, long)
    // An answer that breaks off is cut, not ended.
    answering(socket => {
      answer(socket, long - 1)
      socket.end()
    })
    const short = await raw(t, port)
    short.send(head('GET /short', '', 'keep-alive'))
    const cut = await short.ended
    t.equal(cut.length - cut.indexOf('\r\n\r\n') - 4, long - 1)
    // Answered early: the rest of the body is nobody's request.
    answering(socket => void socket.write(ok))
    const early = await raw(t, port)
    early.send(`${head('POST /early', length, 'keep-alive')}${'z'.repeat(1_000)}`)
    await early.seen(/200 OK/)
    early.send(`${'z'.repeat(long - 1_000)}${head('GET /after')}`)
    t.equal((await early.ended).match(/HTTP\/1\.1 200 OK/g)?.length, 2)
    // A client that leaves while nothing comes takes the workload's connection along.
    answering(socket => answer(socket, long / 2))
    const leaving = await raw(t, port)
    leaving.send(head('GET /leaving'))
    await until(async () => leaving.text().length > long / 2, 'all that was sent')
    leaving.socket.destroy()
    await until(async () => connections.at(-1)?.socket.closed === true, 'the end of its connection')
    // And so does a machine that is no more.
    const orphan = await raw(t, port)
    orphan.send(head('GET /orphan'))
    await until(async () => orphan.text().length > long / 2, 'all that was sent')
    await api('DELETE', '/sandboxes/web')
    await orphan.ended
    await until(async () => connections.at(-1)?.socket.closed === true, 'the end of its connection, too')
  },
)

both('who takes none of what they asked for keeps others out of nothing', async (t, isSecure) => {
  const { port, head, answering, connections } = await behind(t, isSecure)
  const stalled = () => connections.filter(({ text }) => text.includes('/stall')).length
  answering((socket, text) => {
    if (!text.includes('/stall')) socket.write(ok)
  })
  const many = await Promise.all(Array.from({ length: 257 }, () => raw(t, port)))
  for (const one of many) one.send(head('GET /stall'))
  await until(async () => stalled() === 256, 'all but one')
  const [first, ...rest] = many
  const neighbour = await raw(t, port, '127.0.0.2')
  neighbour.send(head('GET /x'))
  t.match(await neighbour.ended, /\r\n\r\nok$/, 'another client is answered')
  t.equal(stalled(), 256, 'the last one waits')
  first?.socket.destroy()
  await until(async () => stalled() === 257, 'its turn')
  for (const { socket } of rest) socket.destroy()
  t.match(await exchange(t, port, head('GET /x')), /\r\n\r\nok$/)
})

both('what is no HTTP becomes 502; more than was announced reaches nobody', async (t, isSecure) => {
  const { ask, answering, api } = await behind(t, isSecure)
  const bad: Record<string, string> = {
    'no HTTP': 'SSH-2.0-OpenSSH\r\n',
    'a status of four digits': 'HTTP/1.1 1000 x\r\nContent-Length: 2\r\n\r\nok',
    'a status of 99': 'HTTP/1.1 099 x\r\nContent-Length: 2\r\n\r\nok',
    'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok',
    'a length and chunks':
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    'a control character': 'HTTP/1.1 200 OK\r\nX: a\x01b\r\nContent-Length: 2\r\n\r\nok',
    'a space in a name': 'HTTP/1.1 200 OK\r\nX Y: 1\r\nContent-Length: 2\r\n\r\nok',
    'an upgrade nobody asked for': 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nok',
    'endless headers': `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(100_000)}\r\nContent-Length: 2\r\n\r\nok`,
  }
  for (const [what, text] of Object.entries(bad)) {
    answering(socket => void socket.write(text))
    t.match(await ask('GET /x'), /^HTTP\/1\.1 502 [^]*"UPSTREAM_FAILED"/, what)
  }
  answering(socket => void socket.write(`${ok}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`))
  t.match(await ask('GET /x'), /\r\n\r\nok$/)
  answering(socket => void socket.write(ok))
  t.match(await ask('GET /x'), /\r\n\r\nok$/, 'the next one gets its own answer')
  answering(socket => void socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n'))
  t.notMatch(await ask('GET /x'), /0\r\n\r\n$/, 'a broken body does not look whole')
  t.equal((await api('GET', '/sandboxes')).status, 200)
})

both('odd but possible answers pass: bytes beyond ASCII, reason phrases, 1xx, no length', async (t, isSecure) => {
  const { ask, answering } = await behind(t, isSecure)
  answering(
    socket => void socket.write(Buffer.from('HTTP/1.1 200 OK\r\nX: caf\xe9\r\nContent-Length: 2\r\n\r\nok', 'latin1')),
  )
  t.match(await ask('GET /x'), /\r\nX: caf\xe9\r\n/, 'header bytes are not encoded a second time')
  answering(socket => void socket.write('HTTP/1.1 200 od\x01d\r\nContent-Length: 2\r\n\r\nok'))
  t.match(await ask('GET /x'), /^HTTP\/1\.1 200 od\?d\r\n/)
  answering(socket => void socket.write(`HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n${ok}`))
  t.match(await ask('GET /x'), /^HTTP\/1\.1 200 [^]*\r\n\r\nok$/)
  answering(socket => void socket.end('HTTP/1.1 200 OK\r\n\r\nall of it'))
  t.match(await ask('GET /x'), /9\r\nall of it\r\n0\r\n\r\n$/)
  answering(socket => void socket.write('HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\nok'))
  t.match(await ask('GET /x'), /^HTTP\/1\.1 204 [^]*\r\n\r\n$/)
  answering(socket => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n'))
  t.match(await ask('HEAD /x'), /^HTTP\/1\.1 200 [^]*Content-Length: 200\r\n[^]*\r\n\r\n$/)
})

both('an answer that comes before the whole body is seen', async (t, isSecure) => {
  const { port, head, answering } = await behind(t, isSecure)
  const big = `HTTP/1.1 413 Big\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig`
  answering(socket => {
    answering(() => {})
    socket.write(big)
  })
  const connection = await raw(t, port)
  connection.send(`${head('POST /x', 'Content-Length: 500000000\r\n')}${'x'.repeat(300_000)}`)
  t.match(await connection.seen(/big$/), /^HTTP\/1\.1 413 /)
})

both('forms of the target: absolute ones are read, what names two hosts is refused', async (t, isSecure) => {
  const { port, connections, host } = await behind(t, isSecure)
  const credential = `Authorization: Bearer ${host.first.adminKey}\r\nConnection: close\r\n`
  const absolute = (target: string, name: string) =>
    exchange(t, port, `GET ${target} HTTP/1.1\r\nHost: ${name}\r\n${credential}\r\n`)
  t.match(await absolute('http://sbx-web-default.local/y?a=1', 'sbx-web-default.local'), /^HTTP\/1\.1 200 /)
  t.match(connections[0]?.text, /^GET \/y\?a=1 HTTP\/1\.1\r\n/)
  t.match(await absolute('http://x?a', 'x'), /^HTTP\/1\.1 200 [^]*"openapi"/)
  t.match(await absolute('http://x/v0/sandboxes', 'x'), /^HTTP\/1\.1 200 [^]*"web"/)
  t.match(await absolute('http://sbx-web-default.local/y', 'x'), /^HTTP\/1\.1 400 /)
  t.match(await absolute('http://x@sbx-web-default.local/y', 'sbx-web-default.local'), /^HTTP\/1\.1 400 /)
  t.match(await absolute('ftp://x/y', 'x'), /^HTTP\/1\.1 400 /)
  t.match(
    await exchange(t, port, `OPTIONS * HTTP/1.1\r\nHost: sbx-web-default.local\r\n${credential}\r\n`),
    /^HTTP\/1\.1 404 /,
  )
  t.equal(connections.filter(({ text }) => text).length, 1, 'only the first reached the workload')
})

both(
  'an offer of HTTP/2 is ignored, body and all; headers meant for one connection stay there',
  async (t, isSecure) => {
    const { port, head, asked } = await behind(t, isSecure)
    const offer =
      'Upgrade: h2c\r\nHTTP2-Settings: AAMA\r\nX-Forwarded-For: 1\r\nX-Forwarded-For: 2\r\nContent-Length: 3\r\n'
    const text = await exchange(t, port, `${head('POST /x', offer, 'Upgrade, HTTP2-Settings, close')}abc`)
    t.match(text, /^HTTP\/1\.1 200 /)
    const [request = ''] = asked()
    t.match(request, /\r\n\r\nabc$/)
    t.notMatch(request, /h2c|http2-settings/i)
    t.match(request, /x-forwarded-for: 1, 2, 127\.0\.0\.1\r\n/)
  },
)

both('what follows the request for an upgrade goes nowhere until that is agreed to', async (t, isSecure) => {
  const { port, head, connections, answering } = await behind(t, isSecure)
  const upgrade = head('GET /ws', 'Upgrade: websocket\r\n', 'Upgrade')
  const asked = () => connections.filter(({ text }) => text.includes('/ws'))
  answering(() => {})
  const eager = await raw(t, port)
  eager.send(upgrade + head('GET /one'))
  await until(async () => asked().length === 1, 'the request')
  eager.send(head('GET /two'))
  // Another goes all the way meanwhile.
  answering((socket, text) => void (text.includes('/x') && socket.write(ok)))
  t.match(await exchange(t, port, head('GET /x')), /\r\n\r\nok$/)
  t.notMatch(asked()[0]?.text, /GET \/(one|two)|Bearer/, 'neither it nor the credential in it')
  asked()[0]?.socket.write('HTTP/1.1 418 No\r\nContent-Length: 2\r\n\r\nno')
  t.match(await eager.ended, /^HTTP\/1\.1 418 [^]*\r\n\r\nno$/)
  t.notMatch(connections.map(({ text }) => text).join(), /GET \/(one|two)/, 'nor after a refusal')
  const long = await raw(t, port)
  long.send(upgrade)
  await until(async () => asked().length === 2, 'the request')
  long.send('x'.repeat(80 * 1024))
  await long.ended
  t.pass('and it is not kept without end')
})

both('a WebSocket ends at both ends, whichever vanishes, and whenever', async (t, isSecure) => {
  const { port, head, connections, answering } = await behind(t, isSecure)
  const upgrade = 'Upgrade: websocket\r\nX: caf\xe9\r\n'
  const opened = () => connections.filter(({ text }) => text.includes('/ws'))
  answering(
    socket => void socket.write('HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nhello'),
  )
  const client = await raw(t, port)
  client.send(head('GET /ws', upgrade, 'Upgrade'))
  await client.seen(/hello$/)
  t.match(opened()[0]?.text, /\r\nx: caf\xe9\r\n/, 'header bytes go on as they are')
  client.socket.destroy()
  await until(async () => opened().every(({ socket }) => socket.destroyed), 'the end at the workload')
  const other = await raw(t, port)
  other.send(head('GET /ws', upgrade, 'Upgrade'))
  await other.seen(/hello$/)
  opened().at(-1)?.socket.destroy()
  await other.ended
  t.pass('the client sees the end')
  // Gone before the connection to the workload is there: nothing may be left open to it.
  for (let i = 0; i < 20; i++) {
    const hasty = await raw(t, port)
    hasty.send(head('GET /ws', upgrade, 'Upgrade'))
    hasty.reset()
  }
  t.match(await exchange(t, port, head('GET /x').replace('/web/', '/nobody/')), /404/)
  await until(
    async () => connections.filter(({ socket, text }) => text.includes('/ws') && !socket.destroyed).length === 0,
    'the end of all sockets to the workload',
  )
})

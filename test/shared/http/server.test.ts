/** HTTP's own corners over bare sockets: what the server makes of clients that break off, lie, stall or vanish. */
import { readdirSync } from 'node:fs'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { systemClock } from '../../../shared/clock.ts'
import { fail } from '../../../shared/errors.ts'
import { dispatcher, type Dispatcher, type Surface } from '../../../shared/http/dispatch.ts'
import { listen, type Listening } from '../../../shared/http/listen.ts'
import { serve } from '../../../shared/http/server.ts'
import { randomIds } from '../../../shared/ids.ts'
import { serveByLane } from '../../../shared/lane/serve.ts'
import { jsonLog, type Log } from '../../../shared/log.ts'
import { handle, json, reply, route, SocketUpgrade, type Bound } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import { exchange, raw } from '../../support/raw.ts'
import { until } from '../../support/until.ts'

const surface: Surface = {
  decoding: 'segments',
  headers: { 'x-common': 'yes' },
  renderError: error => json({ error: error.message }, { status: error.status }),
}

const hello = handle(
  route('GET /hello', { id: 'hello', summary: '', returns: s.object({ hello: s.string() }) }),
  () => ({
    hello: 'you',
  }),
)
const sum = handle(
  route('POST /sum', { id: 'sum', summary: '', body: s.object({ a: s.number() }), bodyLimit: 100_000 }),
  ({ body }) => ({ a: body.a }),
)
/** Reads nothing of its body. */
const deaf = handle(route('POST /deaf', { id: 'deaf', summary: '', accepts: 'none' }), () => ({ deaf: true }))

const clock = systemClock()
/** Who reads the connections of a dispatcher: node's server alone, or our own reader before it. */
const readers = {
  node: serve,
  lane: (to: Dispatcher, { log }: { log: Log }) => serveByLane(to, { log, clock, begun: () => () => {} }),
}

type Serve = (t: Test, bounds: readonly Bound[]) => Promise<Listening & { lines: string[] }>

const serverOf =
  (reader: keyof typeof readers): Serve =>
  async (t, bounds) => {
    const lines: string[] = []
    const log = jsonLog({ level: 'info', now: clock.now, write: line => void lines.push(line) })
    const to = dispatcher(bounds, surface, { log, ids: randomIds(), elapsed: clock.elapsed })
    const made = await listen(readers[reader](to, { log }), { port: 0, host: '127.0.0.1' })
    t.teardown(() => made.close(0))
    return { ...made, lines }
  }

/** Whoever reads the connections, it must make no difference. */
const each = (name: string, run: (t: Test, server: Serve) => Promise<void>): void => {
  for (const reader of ['node', 'lane'] as const) void t.test(`${name}, by ${reader}`, t => run(t, serverOf(reader)))
}

const head = (line: string, ...headers: string[]): string =>
  [`${line} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n')
const last = 'Connection: close'

const descriptors = (): number => readdirSync('/proc/self/fd').length

each('what is no HTTP/1.1 is told so, and the connection ends', async (t, server) => {
  const { port } = await server(t, [hello, sum])
  const refused: [string, string, number][] = [
    ['TLS', '\x16\x03\x01\x02\x00\x01', 400],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
    ['a space before a colon', 'GET /hello HTTP/1.1\r\nHost : x\r\n\r\n', 400],
    ['a folded header', head('GET /hello', 'X: a\r\n b'), 400],
    ['bare line feeds', 'GET /hello HTTP/1.1\nHost: x\n\n', 400],
    ['no Host', 'GET /hello HTTP/1.1\r\n\r\n', 400],
    ['two Hosts', head('GET /hello', 'Host: y'), 400],
    ['another host in the target', head('GET http://y/hello'), 400],
    ['two lengths', head('POST /sum', 'Content-Length: 5', 'Content-Length: 6'), 400],
    ['a length and chunks', `${head('POST /sum', 'Content-Length: 5', 'Transfer-Encoding: chunked')}0\r\n\r\n`, 400],
    ['a chunk of no size', `${head('POST /sum', 'Transfer-Encoding: chunked')}zz\r\n{}\r\n0\r\n\r\n`, 400],
    ['a chunk beyond all numbers', `${head('POST /sum', 'Transfer-Encoding: chunked')}${'f'.repeat(20)}\r\n`, 400],
    ['an unknown encoding', `${head('POST /sum', 'Transfer-Encoding: xchunked')}0\r\n\r\n`, 400],
    ['endless headers', head('GET /hello', `X: ${'x'.repeat(1_200_000)}`), 431],
    ['an endless target', `GET /${'x'.repeat(1_200_000)} HTTP/1.1\r\n\r\n`, 431],
    ['a request for a tunnel', 'CONNECT y:1 HTTP/1.1\r\nHost: x\r\n\r\n', 404],
    ['an unknown expectation', head('POST /sum', 'Expect: magic', 'Content-Length: 2', last), 417],
  ]
  for (const [what, text, status] of refused)
    t.match(await exchange(t, port, text), new RegExp(`^HTTP/1\\.1 ${status} `), what)
  t.match(await exchange(t, port, head('GET /hello', last)), /^HTTP\/1\.1 200 /)
})

each(
  'nothing but headers and idleness has a deadline: streams, watches and terminals outlive any',
  async (t, server) => {
    const made = await server(t, [hello])
    t.match(made.server, {
      requestTimeout: 0,
      timeout: 0,
      headersTimeout: 30_000,
      keepAliveTimeout: 120_000,
    })
  },
)

each('what is odd but allowed works', async (t, server) => {
  const { port } = await server(t, [hello, sum])
  const body = '{"a":1}'
  const works: [string, string][] = [
    ['HTTP/1.0', 'GET /hello HTTP/1.0\r\n\r\n'],
    ['an absolute target', head('GET http://x/hello', last)],
    ['an absolute target with the usual port', head('GET http://X:80/hello', last)],
    ['large headers', head('GET /hello', `X: ${'x'.repeat(500_000)}`, last)],
    ['an offer of HTTP/2', head('GET /hello', 'Connection: Upgrade, HTTP2-Settings, close', 'Upgrade: h2c')],
    [
      'the same with a body',
      `${head('POST /sum', 'Connection: Upgrade, close', 'Upgrade: h2c', 'Content-Length: 7')}${body}`,
    ],
    ['an upgrade nobody offers', head('GET /hello', 'Connection: Upgrade', 'Upgrade: websocket')],
    [
      'chunks',
      `${head('POST /sum', 'Transfer-Encoding: chunked', last)}2;x=1\r\n{"\r\n5\r\na":1}\r\n0\r\nT: x\r\n\r\n`,
    ],
  ]
  for (const [what, text] of works) t.match(await exchange(t, port, text), /^HTTP\/1\.1 200 OK\r\n[^]*\}$/, what)
  const waiting = await raw(t, port)
  waiting.send(head('POST /sum', 'Expect: 100-continue', 'Content-Length: 7', last))
  await waiting.seen(/^HTTP\/1\.1 100 Continue\r\n\r\n$/)
  waiting.send(body)
  t.match(await waiting.ended, /200 OK/)
})

each('requests sent in one go are answered in order, and one that half came is waited for', async (t, server) => {
  const { port } = await server(t, [hello, sum, deaf])
  const connection = await raw(t, port)
  connection.send(
    head('GET /nowhere') + head('POST /deaf', 'Content-Length: 3') + `abc${head('GET /hello')}`.slice(0, -3),
  )
  await connection.seen(/404 [^]*"deaf":true\}$/)
  connection.send('\n\r\n')
  await connection.seen(/"hello":"you"\}$/)
  connection.socket.end(head('GET /hello', last))
  t.match(await connection.ended, /("hello":"you"\}[^]*){2}$/, 'a half-closed connection still gets its answer')
})

each('requests sent in one go take effect in order, and one whose client is gone is not begun', async (t, server) => {
  const begun: string[] = []
  let release = (): void => {}
  const note = handle(
    route('POST /note/:word', {
      id: 'note',
      summary: '',
      params: s.object({ word: s.string() }),
      returns: s.object({ word: s.string() }),
    }),
    async ({ params }) => {
      begun.push(params.word)
      await new Promise<void>(resolve => (release = resolve))
      return { word: params.word }
    },
  )
  const { port } = await server(t, [note, hello])
  const post = (word: string) => `${head(`POST /note/${word}`, 'Content-Length: 2')}{}`
  const connection = await raw(t, port)
  connection.send(post('first') + post('second') + head('GET /hello', last))
  await until(() => begun.length > 0, 'the first')
  for (let i = 0; i < 10; i++) await turn()
  t.same(begun, ['first'], 'the second waits')
  release()
  await until(() => begun.length > 1, 'the second')
  release()
  t.match(await connection.ended, /"first"\}[^]*"second"\}[^]*"hello":"you"\}$/)
  const gone = await raw(t, port)
  gone.send(post('third') + post('fourth'))
  await until(() => begun.length > 2, 'the third')
  gone.socket.destroy()
  await gone.ended
  release()
  t.match(await exchange(t, port, head('GET /hello', last)), /^HTTP\/1\.1 200 /)
  t.same(begun, ['first', 'second', 'third'])
})

each('of requests sent in one go each is a turn of its own: others are served in between', async (t, server) => {
  let [all, inTurn, most] = [0, 0, 0]
  const counted = handle(route('GET /counted', { id: 'counted', summary: '' }), () => {
    if (inTurn === 0) setImmediate(() => void (inTurn = 0))
    most = Math.max(most, ++inTurn)
    return { all: ++all }
  })
  const { port } = await server(t, [counted])
  const text = await exchange(t, port, `${head('GET /counted').repeat(299)}${head('GET /counted', last)}`)
  t.match(text, /\{"all":300\}$/)
  t.equal(most, 1)
})

each('a body that is sent compressed is refused: it is not taken for what it is not', async (t, server) => {
  const { port } = await server(t, [hello, sum])
  const body = '{"a":1}'
  const sent = (coding: string) => exchange(t, port, `${head('POST /sum', coding, 'Content-Length: 7', last)}${body}`)
  t.match(await sent('Content-Encoding: gzip'), /^HTTP\/1\.1 415 [^]*accept-encoding: identity\r\n[^]*coding \\"gzip/i)
  t.match(await sent('Content-Encoding: identity'), /^HTTP\/1\.1 200 /)
  t.match(await exchange(t, port, head('GET /hello', 'Content-Encoding: gzip', last)), /^HTTP\/1\.1 200 /)
})

each(
  'a body that is too large is refused at once, one that nobody reads does not block the next request',
  async (t, server) => {
    const { port } = await server(t, [hello, sum, deaf])
    for (const header of ['Content-Length: 500000000', 'Transfer-Encoding: chunked']) {
      const connection = await raw(t, port)
      const piece = 'x'.repeat(150_000)
      connection.send(
        head('POST /sum', header) + (header.startsWith('T') ? `${piece.length.toString(16)}\r\n` : '') + piece,
      )
      t.match(await connection.seen(/\}$/), /^HTTP\/1\.1 413 [^]*larger than 100000 bytes/, header)
    }
    const kept = await raw(t, port)
    kept.send(`${head('POST /deaf', 'Content-Length: 500000')}${'x'.repeat(400_000)}`)
    await kept.seen(/"deaf":true\}$/)
    kept.send(`${'x'.repeat(100_000)}${head('GET /hello')}`)
    await kept.seen(/"hello":"you"\}$/)
    const endless = await raw(t, port)
    endless.send(head('POST /deaf', 'Content-Length: 500000000'))
    await endless.seen(/"deaf":true\}$/)
    endless.send(Buffer.alloc(8 * 1024 * 1024))
    await endless.ended
    t.pass('and one that is huge is cut')
  },
)

/** An answer that has begun and ends with the gate. */
const slowly = (gate: PromiseWithResolvers<void>): Bound =>
  handle(route('GET /slow', { id: 'slow', summary: '', produces: ['text/plain'] }), () =>
    reply(200, { 'content-type': 'text/plain' }, async out => {
      out.write('first')
      await gate.promise
    }),
  )

t.test('an error while an answer is under way is not written into it', async t => {
  const gate = Promise.withResolvers<void>()
  t.teardown(() => gate.resolve())
  const { port } = await serverOf('node')(t, [slowly(gate)])
  const connection = await raw(t, port)
  connection.send(head('GET /slow'))
  await connection.seen(/first\r\n$/)
  connection.send('no HTTP at all\r\n\r\n')
  const text = await connection.ended
  t.notMatch(text, /400/)
  t.notMatch(text, /0\r\n\r\n$/, 'and what was cut does not look whole')
})

t.test('what follows an answer that is under way is read after it, by lane', async t => {
  const gate = Promise.withResolvers<void>()
  const { port } = await serverOf('lane')(t, [slowly(gate)])
  const connection = await raw(t, port)
  connection.send(head('GET /slow'))
  await connection.seen(/first\r\n$/)
  connection.send('no HTTP at all\r\n\r\n')
  gate.resolve()
  t.match(await connection.ended, /first\r\n0\r\n\r\nHTTP\/1\.1 400 /)
})

each('headers are never split by what is put into them', async (t, server) => {
  const evil = handle(route('GET /evil', { id: 'evil', summary: '' }), () =>
    reply(200, { 'x-name': 'a\r\nX-Evil: 1' }, 'x'),
  )
  const { port, lines } = await server(t, [evil, hello])
  t.notMatch(await exchange(t, port, head('GET /evil', last)), /x-evil/i)
  t.match(lines.join(''), /request\.broken/)
  t.match(await exchange(t, port, head('GET /hello', last, 'X-Request-Id: a%0d%0ab')), /200 OK/)
})

each('a failure before the answer is in its shape, one within it cuts the connection', async (t, server) => {
  const before = handle(route('GET /before', { id: 'before', summary: '' }), () => {
    throw fail('not_found', { kind: 'thing', name: '"\r\nX: 1' })
  })
  const within = handle(route('GET /within', { id: 'within', summary: '', produces: ['text/plain'] }), () =>
    reply(200, {}, async out => {
      out.write('some')
      throw new Error('lost')
    }),
  )
  const stream = handle(route('GET /stream', { id: 'stream', summary: '', produces: ['text/plain'] }), () =>
    reply(
      200,
      {},
      Readable.from(
        (async function* () {
          yield 'some'
          throw new Error('lost')
        })(),
      ),
    ),
  )
  const { port, lines } = await server(t, [before, within, stream])
  t.match(await exchange(t, port, head('GET /before', last)), /^HTTP\/1\.1 404 [^]*x-common: yes\r\n[^]*\{"error":/)
  for (const target of ['/within', '/stream']) {
    const text = await exchange(t, port, head(`GET ${target}`, last))
    t.match(text, /^HTTP\/1\.1 200 /)
    t.notMatch(text, /0\r\n\r\n$/, target)
  }
  t.equal(lines.filter(line => line.includes('reply.cut')).length, 2)
})

each('clients that vanish end what was done for them, and leave no descriptor', async (t, server) => {
  let open = 0
  const forever = handle(route('GET /forever', { id: 'forever', summary: '', produces: ['text/plain'] }), () =>
    reply(200, {}, async (out, signal) => {
      open++
      out.write('x')
      await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
      open--
    }),
  )
  const takes = handle(
    route('POST /takes', { id: 'takes', summary: '', accepts: 'stream' }),
    async (_, { request }) => {
      open++
      try {
        for await (const _piece of request.body) await turn()
        return {}
      } finally {
        open--
      }
    },
  )
  const { port, lines } = await server(t, [forever, takes])
  const before = descriptors()
  for (const text of [head('GET /forever'), `${head('POST /takes', 'Content-Length: 1000')}abc`]) {
    const clients = await Promise.all(Array.from({ length: 20 }, () => raw(t, port)))
    for (const client of clients) client.send(text)
    await until(async () => open === 20, 'all to be open')
    for (const [index, { socket }] of clients.entries()) {
      if (index % 2) socket.resetAndDestroy()
      else socket.destroy()
    }
    await until(async () => open === 0 && descriptors() <= before + 4, 'all to be gone')
  }
  t.equal(lines.filter(line => line.includes('"error"')).length, 0, 'and it is no error of ours')
})

each('a reader that does not read holds the writer up', async (t, server) => {
  let written = 0
  const flood = handle(route('GET /flood', { id: 'flood', summary: '', produces: ['text/plain'] }), () =>
    reply(200, {}, async (out, signal) => {
      const piece = Buffer.alloc(64 * 1024)
      while (!signal.aborted) {
        written += piece.length
        if (!out.write(piece)) await once(out, 'drain', { signal })
      }
    }),
  )
  const { port } = await server(t, [flood])
  const client = await raw(t, port)
  client.socket.pause()
  client.send(head('GET /flood'))
  // Full when nothing more was written in many turns of the loop.
  let still = 0
  for (let seen = -1; still < 2_000; still = written > 0 && written === seen ? still + 1 : 0) {
    seen = written
    await turn()
  }
  t.ok(written < 32 * 1024 * 1024, `${written} bytes for a reader that took none`)
})

each('a writer that does not write costs a socket and no more', async (t, server) => {
  const { port } = await server(t, [hello, sum])
  const slow = await Promise.all(Array.from({ length: 200 }, () => raw(t, port)))
  for (const client of slow) client.send('POST /sum HTTP/1.1\r\nHost: x\r\nContent-Le')
  t.match(await exchange(t, port, head('GET /hello', last)), /200 OK/)
  for (const client of slow) client.send('ngth: 7\r\n\r\n{"a"')
  t.match(await exchange(t, port, head('GET /hello', last)), /200 OK/)
  for (const client of slow) client.send(':1}')
  for (const client of slow) await client.seen(/"a":1\}$/)
  t.pass('all are answered in the end')
})

each('1,000 idle streams cost little', async (t, server) => {
  let open = 0
  const idle = handle(route('GET /idle', { id: 'idle', summary: '', produces: ['text/plain'] }), () =>
    reply(200, {}, async (out, signal) => {
      open++
      out.write('.')
      await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve(), { once: true }))
    }),
  )
  const { port } = await server(t, [idle])
  const before = process.memoryUsage()
  for (let i = 0; i < 20; i++) {
    const some = await Promise.all(Array.from({ length: 50 }, () => raw(t, port)))
    for (const client of some) client.send(head('GET /idle'))
  }
  await until(async () => open === 1_000, 'all to be open')
  const { heapUsed, external } = process.memoryUsage()
  const each = (heapUsed + external - before.heapUsed - before.external) / 1_000
  // Both ends of every connection are in this process, garbage included.
  t.ok(each < 128 * 1024, `${Math.round(each / 1024)} KiB for each`)
})

each(
  'a route that takes the socket over says so to a plain request; closing waits for nobody for ever',
  async (t, server) => {
    const socket = handle(
      route('GET /ws', { id: 'ws', summary: '', upgrade: true }),
      () => new SocketUpgrade(far => void far.write('taken')),
    )
    const made = await server(t, [socket, hello])
    t.match(await exchange(t, made.port, head('GET /ws', last)), /^HTTP\/1\.1 426 /)
    const client = await raw(t, made.port)
    client.send(head('GET /ws', 'Connection: Upgrade', 'Upgrade: websocket'))
    await client.seen(/taken/)
    const idle = await raw(t, made.port)
    const half = await raw(t, made.port)
    half.send('GET /hello HTT')
    await made.close(10)
    await Promise.all([idle.ended, half.ended, client.ended])
    t.pass('closed')
  },
)

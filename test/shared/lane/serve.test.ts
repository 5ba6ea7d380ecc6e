/** The server with our own reader beside node's alone: the same bytes in, the same bytes out. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { systemClock } from '../../../shared/clock.ts'
import { fail } from '../../../shared/errors.ts'
import { connectionClosed } from '../../../shared/http/connection-closed.ts'
import { dispatcher, type Surface } from '../../../shared/http/dispatch.ts'
import { listen, type Listening } from '../../../shared/http/listen.ts'
import { serve, type ApiServer } from '../../../shared/http/server.ts'
import { randomIds } from '../../../shared/ids.ts'
import { serveByLane } from '../../../shared/lane/serve.ts'
import { silentLog } from '../../../shared/log.ts'
import { handle, json, Reply, reply, route, type Bound, type Context } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import { exchange, raw } from '../../support/raw.ts'
import { until } from '../../support/until.ts'

const clock = systemClock()

const surface: Surface = {
  decoding: 'segments',
  headers: { 'x-common': 'yes', 'cache-control': 'no-cache' },
  renderError: error => json({ error: error.message }, { status: error.status }),
}

const tick = () => new Promise(resolve => setTimeout(resolve, 5))

/** Why handlers think that their client has gone. */
const left: unknown[] = []

/** Pieces of a flood, if nobody stops it. */
const most = 1_000

const plain = (path: string, answer: (context: Context) => unknown): Bound =>
  handle(route(`GET /${path}`, { id: path, summary: '' }), (_, context) => answer(context) as Reply)

const bodyText = async (body: Readable): Promise<string> => {
  let text = ''
  for await (const piece of body) text += String(piece)
  return text
}

const bounds: readonly Bound[] = [
  plain('object', ({ request: { headers, rawQuery, search } }) => ({ headers, rawQuery, a: search.get('a') })),
  plain('beyond-ascii', () => ({ text: 'žluťoučký kůň \u{1f40e}' })),
  plain('long-text', () => ({ text: 'x'.repeat(200_000) })),
  plain('bytes', () => reply(200, { 'content-type': 'application/octet-stream' }, Buffer.from([0, 255, 13, 10, 128]))),
  plain('long-bytes', () => reply(200, {}, Buffer.alloc(200_000, 7))),
  plain('empty', () => reply(200, { 'content-type': 'text/plain' })),
  plain('nothing', () => reply(204, { etag: '"1"' })),
  plain('unchanged', () => reply(304, { etag: '"1"' }, 'a body that must not be sent')),
  plain('known-length', () => reply(200, { 'content-length': '3' }, 'abc')),
  plain('cookies', () => new Reply(200, {}, 'x', ['a=1', 'b=2'])),
  plain('closing', () => reply(200, { connection: 'close' }, 'x')),
  plain('kept', () => reply(200, { connection: 'keep-alive', 'x-accel-buffering': 'no' }, 'x')),
  plain('dated', () => reply(200, { date: 'never' }, 'x')),
  plain('latin1', () => reply(200, { 'x-name': 'caf\xe9' }, 'x')),
  plain('odd-status', () => reply(299, {}, 'x')),
  plain('pieces', () =>
    reply(200, { 'content-type': 'text/plain' }, async out => {
      for (const piece of ['one', 'two', 'three']) if (!out.write(piece)) await once(out, 'drain')
    }),
  ),
  plain('many-pieces', () =>
    reply(200, { 'content-type': 'text/plain' }, async out => {
      for (let at = 0; at < 40; at++) if (!out.write('y'.repeat(50_000))) await once(out, 'drain')
    }),
  ),
  plain('no-pieces', () => reply(200, {}, async () => {})),
  plain('odd-pieces', () =>
    reply(201, { 'content-type': 'text/plain' }, async out => {
      await tick()
      for (const piece of ['', 'kůň \u{1f40e}', Buffer.from([0, 255, 13, 10]), Buffer.alloc(0)]) out.write(piece)
      out.write('caf\xe9', 'latin1')
      out.write('6b6f6e6563', 'hex')
    }),
  ),
  plain('pieces-without-body', () => reply(204, {}, async () => {})),
  plain('pieces-with-cookies', () => new Reply(200, {}, async out => void out.write('x'), ['a=1', 'b=2'])),
  plain('pieces-of-known-length', () => reply(200, { 'content-length': '2' }, async out => void out.write('ab'))),
  plain('kept-pieces', () =>
    reply(200, { connection: 'keep-alive', 'x-accel-buffering': 'no' }, async out => void out.write('x')),
  ),
  plain('broken-off', () =>
    reply(200, {}, async out => {
      out.write('begun')
      await tick()
      throw new Error('no more of it')
    }),
  ),
  plain('flood', () =>
    reply(200, {}, async out => {
      let pieces = 0
      while (pieces++ < most && out.write('x'.repeat(65_536)));
      await once(out, 'drain')
      out.write(` ${pieces} pieces`)
    }),
  ),
  plain('left', async ({ signal }) => {
    await once(signal, 'abort')
    left.push(signal.reason)
  }),
  plain('left-before', async context => {
    await new Promise<void>(resolve => context.request.exchange?.onOver(resolve))
    left.push(context.signal.reason)
  }),
  plain('open', () =>
    reply(200, { 'content-type': 'text/plain' }, async (out, signal) => {
      out.write('begun')
      await once(signal, 'abort')
    }),
  ),
  plain('readable', () => reply(200, { 'content-length': '6' }, Readable.from(['abc', 'def']))),
  plain('fails', () => {
    throw fail('not_found', { kind: 'thing', name: 'x' })
  }),
  plain('breaks', () => {
    throw new Error('a bug')
  }),
  handle(
    route('POST /sum', { id: 'sum', summary: '', body: s.object({ a: s.number() }), bodyLimit: 100 }),
    ({ body }) => ({
      a: body.a + 1,
    }),
  ),
  handle(route('PUT /stream', { id: 'stream', summary: '', accepts: 'stream' }), async (_, { request: { body } }) => ({
    got: await bodyText(body),
  })),
  handle(route('PUT /deaf', { id: 'deaf', summary: '', accepts: 'stream' }), () => ({ deaf: true })),
]

interface Both {
  readonly node: Listening
  readonly lane: Listening
  /** How many requests our own reader has begun, and how many of them are over. */
  readonly counts: { begun: number; over: number }
}

const both = async (t: Test): Promise<Both> => {
  const counts = { begun: 0, over: 0 }
  const ids = { ...randomIds(), uuid: () => 'an-id' }
  const to = dispatcher(bounds, surface, { log: silentLog, ids, elapsed: clock.elapsed })
  const begun = () => {
    counts.begun++
    return () => void counts.over++
  }
  const at = async (server: ApiServer): Promise<Listening> => {
    const listening = await listen(server, { port: 0, host: '127.0.0.1' })
    t.teardown(() => listening.close(0))
    return listening
  }
  return {
    node: await at(serve(to, { log: silentLog })),
    lane: await at(serveByLane(to, { log: silentLog, clock, begun })),
    counts,
  }
}

const last = 'Connection: close'
const head = (line: string, ...headers: string[]): string =>
  [`${line} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n')
const withBody = (line: string, body: string, ...headers: string[]): string =>
  `${head(line, `Content-Length: ${body.length}`, ...headers)}${body}`

const undated = (text: string): string =>
  text.replace(/\r\nDate: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT\r\n/g, '\r\nDate: then\r\n')

/** Those whose connection does not end by itself, or not after a second answer. */
const ownWay: ReadonlySet<string> = new Set([
  'kept',
  'kept-pieces',
  'open',
  'flood',
  'broken-off',
  'left',
  'left-before',
])

t.test('every answer is what node would have written, byte for byte, also when another follows', async t => {
  const { node, lane, counts } = await both(t)
  const paths = bounds
    .filter(({ route: { method, id } }) => method === 'GET' && !ownWay.has(id))
    .map(({ route: { path } }) => path)
  const lines = [
    ...paths.map(path => `GET ${path}`),
    'GET /object?a=1&a=2&b=%20',
    'HEAD /object',
    'GET /nowhere',
    'OPTIONS /object',
  ]
  for (const line of lines) {
    counts.begun = 0
    const asked = `${head(line, 'Accept: */*')}${head(line, last)}`
    const [theirs, ours] = [await exchange(t, node.port, asked), await exchange(t, lane.port, asked)]
    t.equal(undated(ours), undated(theirs), line)
    // An answer that ends the connection is the only one.
    t.equal(counts.begun, theirs.split('HTTP/1.1 ').length - 1, `${line} was read by us`)
  }
})

t.test('an answer that keeps the connection by its own word', async t => {
  const { node, lane } = await both(t)
  for (const [path, end] of [
    ['/kept', /\r\n\r\nx$/],
    ['/kept-pieces', /\r\nx\r\n0\r\n\r\n$/],
  ] as const) {
    const [theirs, ours] = [await raw(t, node.port), await raw(t, lane.port)]
    for (const one of [theirs, ours]) {
      one.send(head(`GET ${path}`))
      await one.seen(end)
      one.send(head('GET /object', last))
    }
    t.equal(undated(await ours.ended), undated(await theirs.ended), path)
  }
})

t.test('an answer in pieces begins with what there is at once, and one that breaks off is cut off', async t => {
  const { node, lane, counts } = await both(t)
  const { answers } = lane.server as ApiServer
  const written: unknown[] = []
  lane.server.once('connection', (socket: Socket) => {
    const write = socket.write.bind(socket) as (...given: unknown[]) => boolean
    socket.write = (...given: unknown[]) => {
      written.push(given[0])
      return write(...given)
    }
  })
  const open = await raw(t, lane.port)
  open.send(head('GET /open'))
  await open.seen(/\r\n\r\n5\r\nbegun\r\n$/)
  t.equal(written.length, 1, 'one write')
  t.equal(counts.over, 0)
  t.equal(answers?.size, 1)
  open.reset()
  await until(async () => counts.over === 1 && answers?.size === 0, 'the stream to be over')
  const [theirs, ours] = [
    await exchange(t, node.port, head('GET /broken-off')),
    await exchange(t, lane.port, head('GET /broken-off')),
  ]
  t.equal(undated(ours), undated(theirs))
  t.match(ours, /\r\n5\r\nbegun\r\n$/, 'it has no end')
})

t.test('who does not read is written no more to, and has all of it when he reads', async t => {
  const { lane } = await both(t)
  const slow = await raw(t, lane.port)
  slow.send(head('GET /flood', last))
  slow.socket.pause()
  await tick()
  slow.socket.resume()
  const pieces = Number(/ (\d+) pieces/.exec(await slow.ended)?.[1])
  t.ok(pieces > 0 && pieces < most, `after ${pieces} pieces`)
  t.equal(slow.text().match(/x{65536}/g)?.length, pieces)
})

t.test('bodies arrive as they were sent, with the head or after it', async t => {
  const { node, lane, counts } = await both(t)
  const json = '{"a":1}'
  const asked: Record<string, string[]> = {
    'in one piece': [withBody('POST /sum', json, last)],
    'after the head': [head('POST /sum', `Content-Length: ${json.length}`, last), json],
    'in pieces': [head('POST /sum', `Content-Length: ${json.length}`, last), '{"a"', ':1}'],
    'not JSON': [withBody('POST /sum', '{"a":', last)],
    'of another shape': [withBody('POST /sum', '{"a":"1"}', last)],
    'too large': [withBody('POST /sum', `{"a":${'1'.repeat(200)}}`, last)],
    none: [head('POST /sum', last)],
    encoded: [withBody('POST /sum', json, 'Content-Encoding: gzip', last)],
    'read as a stream': [withBody('PUT /stream', 'some bytes', last)],
    'read as a stream, after the head': [head('PUT /stream', 'Content-Length: 10', last), 'some ', 'bytes'],
    'a stream of nothing': [withBody('PUT /stream', '', last)],
    'read by nobody, and another': [withBody('PUT /deaf', 'x'.repeat(5_000)), withBody('POST /sum', json, last)],
    'read by nobody, after its answer': [
      head('PUT /deaf', 'Content-Length: 9'),
      `some more${withBody('POST /sum', json, last)}`,
    ],
  }
  for (const [what, pieces] of Object.entries(asked)) {
    counts.begun = 0
    const answers: string[] = []
    for (const { port } of [node, lane]) {
      const connection = await raw(t, port)
      for (const piece of pieces) {
        connection.send(piece)
        await new Promise(resolve => setTimeout(resolve, pieces.length > 1 ? 20 : 0))
      }
      answers.push(undated(await connection.ended))
    }
    t.equal(answers[1], answers[0], what)
    t.ok(counts.begun > 0, `${what} was read by us`)
  }
})

t.test('what is odd or large goes to node, with all that follows on its connection', async t => {
  const { node, lane, counts } = await both(t)
  const chunked = `${head('PUT /stream', 'Transfer-Encoding: chunked')}4\r\nsome\r\n0\r\n\r\n`
  const odd: Record<string, string> = {
    chunks: chunked,
    'a long body': withBody('PUT /stream', 'x'.repeat(70_000)),
    'a long head': head('GET /object', `X-Long: ${'x'.repeat(70_000)}`),
    'an expectation': withBody('PUT /stream', 'some', 'Expect: 100-continue'),
    'a header that comes twice': head('GET /object', 'X-Two: 1', 'X-Two: 2'),
    'an absolute target': head('GET http://x/object'),
  }
  for (const [what, first] of Object.entries(odd)) {
    counts.begun = 0
    const asked = `${first}${head('GET /object', last)}`
    const [theirs, ours] = [await exchange(t, node.port, asked), await exchange(t, lane.port, asked)]
    t.equal(undated(ours), undated(theirs), what)
    t.match(theirs, /HTTP\/1\.1 200 OK[^]*HTTP\/1\.1 200 OK/, what)
    t.equal(counts.begun, 0, `${what} was not read by us`)
  }
})

t.test('whoever watches is told of the end of each request, also of one whose client has gone', async t => {
  const { lane, counts } = await both(t)
  const connection = await raw(t, lane.port)
  connection.send(head('GET /object'))
  await connection.seen(/200 OK/)
  await until(async () => counts.over === 1, 'the first to be over')
  connection.send(head('PUT /stream', 'Content-Length: 10'))
  await until(async () => counts.begun === 2, 'the second to begin')
  t.equal(counts.over, 1)
  connection.reset()
  await until(async () => counts.over === 2, 'the second to be over')
})

t.test('a handler is told that its client has gone, whether it asks before or afterwards', async t => {
  const { lane, counts } = await both(t)
  for (const path of ['/left', '/left-before']) {
    const begun = counts.begun
    const connection = await raw(t, lane.port)
    connection.send(head(`GET ${path}`))
    await until(async () => counts.begun > begun, 'the request to begin')
    connection.reset()
    await until(async () => left.length > 0, 'the handler to be told')
    t.equal(left.pop(), connectionClosed, path)
  }
})

t.test(
  'a server that pauses waits for answers and for who has just come, not for streams or for who was answered',
  async t => {
    const { lane } = await both(t)
    const answered = await raw(t, lane.port)
    answered.send(head('GET /object'))
    await answered.seen(/200 OK/)
    const streams = await raw(t, lane.port)
    streams.send(head('GET /open'))
    await streams.seen(/begun/)
    const waits = await raw(t, lane.port)
    waits.send(head('PUT /stream', 'Content-Length: 4'))
    const fresh = await raw(t, lane.port)
    await until(async () => (await connections(lane)) === 4, 'all of them')
    let isPaused = false
    const paused = lane.pause(60_000).then(() => {
      isPaused = true
    })
    await answered.ended
    t.notOk(isPaused)
    waits.send('some')
    t.match(await waits.ended, /Connection: close\r\n\r\n\{"got":"some"\}$/)
    t.notOk(isPaused, 'who has just come may still ask')
    fresh.send(head('GET /object'))
    t.match(await fresh.ended, /200 OK[^]*Connection: close/)
    await paused
  },
)

const connections = (listening: Listening): Promise<number> =>
  new Promise((resolve, reject) => {
    listening.server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })

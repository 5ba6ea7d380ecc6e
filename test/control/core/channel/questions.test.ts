/** The host's own questions: what is read of an answer, and on which connection the next one goes. */
import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { createConnections } from '../../../../control/core/channel/connections.ts'
import { systemClock } from '../../../../shared/clock.ts'
import { fakeClock } from '../../../support/clock.ts'

/** Answers the nth request on all of its connections with the nth text; with '' not at all. */
const daemon = async (t: Test, answers: readonly string[], clock = systemClock()) => {
  const opened: Socket[] = []
  const heard: string[] = []
  const server = createServer(socket => {
    opened.push(socket.on('error', () => {}))
    socket.on('data', piece => {
      const answer = answers[heard.push(piece.toString()) - 1]
      if (answer === 'close') socket.destroy()
      else if (answer) socket.write(answer)
      if (answer?.includes('until the end')) socket.end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const connections = createConnections({ keyOf: () => Buffer.alloc(32) }, clock)
  t.teardown(async () => {
    await connections.close()
    for (const socket of opened) socket.destroy()
    server.close()
  })
  const to = { address: { host: '127.0.0.1', port: (server.address() as AddressInfo).port } }
  const ask = async (sending: { body?: string; signal?: AbortSignal } = {}) => {
    const { body, signal = new AbortController().signal } = sending
    const more = { origin: 'http://127.0.0.1:1', headers: { 'x-a': 'b' }, signal }
    const answer = await connections
      .questions(to, 100)
      .request({ path: '/p?q=1', method: body ? 'PUT' : 'GET', body: body ?? null, ...more })
    return { status: answer.statusCode, headers: answer.headers, body: await text(answer.body) }
  }
  return { opened, heard, connections, to, ask }
}

const ok = (body: string, more = '') => `HTTP/1.1 200 OK\r\n${more}content-length: ${body.length}\r\n\r\n${body}`

t.test('an answer of any form is read, and the next question goes the same way', async t => {
  const { ask, heard, opened } = await daemon(t, [
    ok('{}', 'Content-Type: application/json\r\n'),
    `HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${ok('after a hint')}`,
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nin \r\n6\r\nchunks\r\n0\r\n\r\n',
    'HTTP/1.1 204 No Content\r\n\r\n',
  ])
  const first = await ask({ body: 'é' })
  t.match(first, { status: 200, headers: { 'content-type': 'application/json' }, body: '{}' })
  t.equal(heard[0], 'PUT /p?q=1 HTTP/1.1\r\nhost: 127.0.0.1:1\r\nx-a: b\r\ncontent-length: 2\r\n\r\né')
  t.match(await ask(), { status: 200, body: 'after a hint' })
  t.equal(heard[1], 'GET /p?q=1 HTTP/1.1\r\nhost: 127.0.0.1:1\r\nx-a: b\r\n\r\n')
  t.match(await ask(), { status: 200, body: 'in chunks' })
  t.match(await ask(), { status: 204, body: '' })
  t.equal(opened.length, 1)
})

t.test('what came with an answer, or was to end it, is not used again', async t => {
  const answers = [
    `${ok('one')}${ok('smuggled')}`,
    ok('two', 'connection: close\r\n'),
    'HTTP/1.1 200 OK\r\n\r\nuntil the end',
    ok('x'.repeat(200)),
    ok('last'),
  ]
  const { ask, opened } = await daemon(t, answers)
  t.equal((await ask()).body, 'one')
  t.equal((await ask()).body, 'two')
  t.equal((await ask()).body, 'until the end')
  t.equal((await ask()).body.length, 200, 'more than may be read shows that it is')
  t.equal((await ask()).body, 'last')
  t.equal(opened.length, 5)
})

t.test('no answer is an error, and so is one that is none', async t => {
  const { ask, opened } = await daemon(t, ['close', 'SSH-2.0-x\r\n', ok('short').slice(0, -1), ok('fine')])
  await t.rejects(ask(), /closed|ECONNRESET/)
  await t.rejects(ask(), /no HTTP/)
  const early = new AbortController()
  const asked = ask({ signal: early.signal })
  while (opened.length < 3) await new Promise(resolve => setTimeout(resolve, 5))
  early.abort(new Error('it takes too long'))
  await t.rejects(asked, /too long/)
  t.equal((await ask()).body, 'fine')
})

t.test('nothing in a head begins another line of it', async t => {
  const { connections, to, heard } = await daemon(t, [ok('one'), ok('two')])
  const { signal } = new AbortController()
  const ask = (path: string, headers: Record<string, string>) =>
    connections.questions(to, 100).request({ origin: 'http://127.0.0.1:1', path, method: 'GET', headers, signal })
  await t.rejects(ask('/p', { 'x-a': 'b\r\nx-c: d' }), TypeError)
  await t.rejects(ask('/p HTTP/1.1\n\nGET /q', {}), TypeError)
  t.same(heard, [])
})

t.test('a question that was given up while it waited for its connection leaves that to the next', async t => {
  const { ask, opened, heard } = await daemon(t, [ok('one')])
  const early = new AbortController()
  const asked = ask({ signal: early.signal })
  early.abort(new Error('given up'))
  await t.rejects(asked, /given up/)
  t.equal((await ask()).body, 'one')
  t.equal(heard.length, 1, 'it was not asked')
  t.equal(opened.length, 1)
})

t.test('what is opened ahead rests for as long as was said, also after it was used', async t => {
  const clock = fakeClock()
  const { ask, opened, connections, to } = await daemon(t, [ok('one', 'keep-alive: timeout=5\r\n'), ok('two')], clock)
  connections.expect(to, Infinity)
  t.equal((await ask()).body, 'one')
  await clock.tick(600_000)
  t.equal((await ask()).body, 'two', 'after ten minutes')
  t.equal(opened.length, 1)
  connections.expect(to, 10_000)
  await clock.tick(60_000)
  for (let looks = 0; looks < 200 && !opened[0]?.destroyed; looks++)
    await new Promise(resolve => setTimeout(resolve, 5))
  t.ok(opened[0]?.destroyed, 'it ends when it was not wanted as soon as was expected')
})

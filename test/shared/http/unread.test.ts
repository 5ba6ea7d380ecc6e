import { Agent, request } from 'node:http'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { fail } from '../../../shared/errors.ts'
import { readBody } from '../../../shared/http/body.ts'
import { dispatcher } from '../../../shared/http/dispatch.ts'
import { listen } from '../../../shared/http/listen.ts'
import { serve } from '../../../shared/http/server.ts'
import { systemClock } from '../../../shared/clock.ts'
import { randomIds } from '../../../shared/ids.ts'
import { silentLog as log } from '../../../shared/log.ts'
import { handle, json, route } from '../../../shared/route.ts'

const upload = (name: string) => route(`POST /${name}`, { id: name, summary: name, accepts: 'stream', open: true })
const bounds = [
  handle(upload('limited'), async (_input, { request: { body } }) =>
    json({ size: (await readBody(body, 1024)).length }),
  ),
  handle(upload('given-up'), async (_input, { request: { body } }) => {
    for await (const piece of body) throw fail('unprocessable', { reason: `${piece.length} bytes are too many` })
    return json({})
  }),
]

/** One connection, used again whenever the server allows it; with `more` the body goes on until the answer is there. */
const client = async (t: Test) => {
  const { elapsed } = systemClock()
  const surface = {
    decoding: 'whole' as const,
    headers: () => ({}),
    renderError: (error: Error) => json({ error: error.message }, { status: 400 }),
  }
  const made = dispatcher(bounds, surface as never, { log, ids: randomIds(), elapsed })
  const { port, close } = await listen(serve(made, { log }), { port: 0, host: '127.0.0.1' })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(async () => {
    agent.destroy()
    await close(100)
  })
  return async (
    path: string,
    bytes: number,
    more = false,
  ): Promise<{ status: number; reused: boolean; connection: string }> => {
    const sent = request({ host: '127.0.0.1', port, path, method: 'POST', agent })
    if (more) sent.write(Buffer.alloc(bytes))
    else sent.end(Buffer.alloc(bytes))
    const [answer] = await once(sent, 'response', { signal: AbortSignal.timeout(60_000) })
    answer.resume()
    await once(answer, 'end')
    if (more) sent.end()
    return { status: answer.statusCode, reused: sent.reusedSocket, connection: answer.headers.connection }
  }
}

t.test('a body over its limit is drained: the connection goes on', async t => {
  const post = await client(t)
  t.match(await post('/limited', 10), { status: 200 })
  t.match(await post('/limited', 500_000), { status: 400, reused: true })
  t.match(await post('/limited', 10), { status: 200, reused: true })
})

t.test('a body that its reader gave up ends the connection: the next request does not wait for ever', async t => {
  const post = await client(t)
  t.match(await post('/given-up', 1_000, true), { status: 400, connection: 'close' })
  t.match(await post('/limited', 10), { status: 200, reused: false })
})

t.test('a body that ends before it is whole is no body, whenever that happens', async t => {
  const cut = new Readable({ read() {} })
  const reading = readBody(cut, 10)
  cut.push('half')
  setImmediate(() => cut.destroy())
  await t.rejects(reading, /before it was whole/)
  await t.rejects(readBody(cut, 10), /before it was whole/)
  const broken = new Readable({ read() {} })
  const failing = readBody(broken, 10)
  broken.destroy(new Error('it broke'))
  await t.rejects(failing, /it broke/)
  await t.rejects(readBody(broken, 10), /it broke/)
})

t.test('a body of pieces, of one, and of none', async t => {
  for (const pieces of [['he', 'l', 'lo'], ['hello'], []]) {
    const body = Readable.from(pieces)
    t.equal(String(await readBody(body, 5)), pieces.join(''))
    t.equal(String(await readBody(body, 5)), '', 'what was read is gone')
    t.same(
      ['data', 'end', 'error', 'close'].map(event => body.listenerCount(event)),
      [0, 0, 0, 0],
    )
  }
  await t.rejects(readBody(Readable.from(['hel', 'lo']), 4), { code: 'payload_too_large' })
})

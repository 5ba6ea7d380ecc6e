/** Bodies that are looked at and then sent on as they came. */
import { once } from 'node:events'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import t from 'tap'
import { readAhead } from '../../../../../control/server/proxy/gateway/read-ahead.ts'

const most = 100_000
const looks: unknown[] = []
const server = createServer((asked, response) => {
  void readAhead(asked, most).then(async seen => {
    looks.push(typeof seen === 'string' ? seen : seen.length)
    if (typeof seen === 'string') return void response.end(seen)
    // Somebody else reads it, later.
    await new Promise(setImmediate)
    const again = await buffer(asked)
    return void response.end(again.equals(seen) ? `same ${again.length}` : 'other')
  })
}).listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => server.close())
const { port } = server.address() as AddressInfo

const send = async (pieces: readonly string[], headers: Record<string, string | number> = {}): Promise<string> => {
  const asking = request({ port, host: '127.0.0.1', method: 'PUT', headers, agent: false })
  const answered = once(asking, 'response')
  for (const piece of pieces) {
    asking.write(piece)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  asking.end()
  const [answer] = (await answered) as [IncomingMessage]
  return text(answer)
}

t.test('it is there to be read again, however it came', async t => {
  t.equal(await send(['{"config":"x"}'], { 'content-length': 14 }), 'same 14')
  t.equal(await send(['a'.repeat(30_000), 'b'.repeat(60_000), 'c']), 'same 90001', 'in pieces, of a length nobody told')
  t.equal(await send(['ab', 'cd'], { 'content-length': 4 }), 'same 4')
})

t.test('what has none, too much, or a client that is gone', async t => {
  t.equal(await send([]), 'empty')
  t.equal(await send([], { 'transfer-encoding': 'chunked' }), 'empty')
  t.equal(await send(['a'.repeat(most), 'b']), 'large')
  const half = request({ port, host: '127.0.0.1', method: 'PUT', headers: { 'content-length': 10 }, agent: false })
  half.on('error', () => {})
  half.write('half')
  const before = looks.length
  await new Promise(resolve => setTimeout(resolve, 50))
  half.destroy()
  while (looks.length === before) await new Promise(resolve => setTimeout(resolve, 10))
  t.equal(looks.at(-1), 'gone')
})

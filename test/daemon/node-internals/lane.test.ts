import { once } from 'node:events'
import { createServer, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createNodeInternals } from '../../../daemon/node-internals/index.ts'
import { systemClock } from '../../../shared/clock.ts'
import { dispatcher } from '../../../shared/http/dispatch.ts'
import { listen } from '../../../shared/http/listen.ts'
import { randomIds } from '../../../shared/ids.ts'
import { silentLog } from '../../../shared/log.ts'
import { handle, json, route } from '../../../shared/route.ts'
import { exchange, raw } from '../../support/raw.ts'

t.test('lane: an answer of node has what our own reader sets and reads', async t => {
  const server = createServer((_, response) => {
    t.ok('_last' in response && '_keepAliveTimeout' in response)
    while (response.write(Buffer.alloc(65_536)));
    const waits = Object.getOwnPropertySymbols(response).find(({ description }) => description === 'kNeedDrain')
    t.equal(waits && Reflect.get(response, waits), true)
    response.destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const connection = await raw(t, (server.address() as AddressInfo).port)
  connection.socket.pause()
  connection.send('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(server, 'request')
  t.type(ServerResponse.prototype.assignSocket, 'function')
})

t.test('lane: node reads a connection only where it is switched off', async t => {
  const clock = systemClock()
  const begun: string[] = []
  const hello = handle(route('GET /hello', { id: 'hello', summary: '' }), (_, { request: { connection } }) => {
    const { parser } = connection as { parser?: object | null }
    return { byNode: Boolean(parser) }
  })
  const surface = { decoding: 'segments', headers: {}, renderError: () => json({}, { status: 500 }) } as const
  const to = dispatcher([hello], surface, { log: silentLog, ids: randomIds(), elapsed: clock.elapsed })
  for (const [name, off] of Object.entries({ on: new Set<never>(), off: new Set(['lane'] as const) })) {
    const note = () => {
      begun.push(name)
      return () => {}
    }
    const server = createNodeInternals(off).serve(to, { log: silentLog, clock, begun: note })
    const { port, close } = await listen(server, { port: 0, host: '127.0.0.1' })
    t.teardown(() => close(0))
    const text = await exchange(t, port, 'GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    t.match(text, `{"byNode":${name === 'off'}}`)
  }
  t.same(begun, ['on'], 'and the collector is told of what node does not know')
})

import { once } from 'node:events'
import { createServer, get, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { limitParserPool } from '../../../daemon/node-internals/parser-pool.ts'

/** Node's own list: the parsers of connections that have ended. */
const { parsers } = process.getBuiltinModule('_http_common' as 'http') as unknown as {
  parsers: { list: unknown[] }
}

/** Two hundred connections that are open at once, then none. */
const crowd = async (server: Server): Promise<void> => {
  const { port } = server.address() as AddressInfo
  const sockets = new Set<object>()
  server.on('connection', socket => sockets.add(socket))
  const gone = new Promise<void>(resolve =>
    server.on('connection', socket =>
      socket.once('close', () => {
        sockets.delete(socket)
        if (sockets.size === 0) resolve()
      }),
    ),
  )
  const answers = await Promise.all(
    Array.from(
      { length: 200 },
      async () => (await once(get({ host: '127.0.0.1', port, agent: false }), 'response'))[0],
    ),
  )
  for (const answer of answers) answer.destroy()
  await gone
}

t.test('parser-pool: Node keeps a list of parsers with a limit', t => {
  t.type((parsers as { max?: unknown }).max, 'number')
  t.ok(Array.isArray(parsers.list))
  t.end()
})

t.test('parser-pool: of many connections that end at once few parsers are kept', async t => {
  const server = createServer((_, response) => void response.writeHead(200).flushHeaders())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  limitParserPool()
  await crowd(server)
  t.ok(parsers.list.length <= 32, `${parsers.list.length} are kept`)
})

t.test('a Node without the list keeps its own limit', t => {
  const { getBuiltinModule } = process
  t.teardown(() => void (process.getBuiltinModule = getBuiltinModule))
  for (const module of [undefined, {}, { parsers: [] }]) {
    process.getBuiltinModule = (() => module) as unknown as typeof getBuiltinModule
    t.doesNotThrow(limitParserPool)
  }
  t.end()
})

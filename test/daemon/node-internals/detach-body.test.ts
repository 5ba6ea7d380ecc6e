import { once } from 'node:events'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readSync } from 'node:fs'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import type { Parser } from '../../../daemon/node-internals/connection.ts'
import { createBodyDetacher } from '../../../daemon/node-internals/detach-body.ts'
import { raw } from '../../support/raw.ts'
import { until } from '../../support/until.ts'

const length = 2 * 1024 * 1024

/** Posts `length` bytes, the first of them at once, and hands the body to `work` when they have come. */
const post = async (work: (body: IncomingMessage) => Promise<unknown>): Promise<unknown> => {
  const server = createServer(async (message, response) => {
    // A body cannot be detached in the turn of the event loop in which its request arrives.
    await Promise.resolve()
    const result = await work(message).catch(error => String(error))
    response.end(JSON.stringify(result))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const sent = request({ host: '127.0.0.1', port, method: 'POST', headers: { 'content-length': length } })
  const answered = once(sent, 'response')
  sent.write(Buffer.alloc(64 * 1024, 'a'))
  sent.end(Buffer.alloc(length - 64 * 1024, 'b'))
  const [response] = await answered
  const result: unknown = JSON.parse(String(await buffer(response)))
  server.closeAllConnections()
  server.close()
  return result
}

t.test('detach-body: this Node has the parts of a connection that are used', async t => {
  const parts = await post(async body => {
    const socket = body.socket as unknown as {
      _handle?: { fd?: unknown }
      _paused?: unknown
      parser?: { incoming?: unknown; constructor: { kOnBody?: number } } & Record<number, unknown>
    }
    const slot = socket.parser?.constructor.kOnBody
    body.resume()
    return {
      'socket._handle.fd': typeof socket._handle?.fd,
      'socket._paused': typeof socket._paused,
      'parser.constructor.kOnBody': typeof slot,
      'parser[kOnBody]': typeof socket.parser?.[slot ?? -1],
      'parser.incoming is the request': socket.parser?.incoming === body,
    }
  })
  t.same(parts, {
    'socket._handle.fd': 'number',
    'socket._paused': 'boolean',
    'parser.constructor.kOnBody': 'number',
    'parser[kOnBody]': 'function',
    'parser.incoming is the request': true,
  })
})

t.test(
  'detach-body: bytes that are read from the socket are not seen by the parser, and the rest comes as a stream',
  async t => {
    const result = await post(async body => {
      const detached = createBodyDetacher(true).detach(body, 0, 1)
      if (!detached) return 'not detached'
      const bytes = Buffer.alloc(4096)
      let read = 0
      while (read === 0)
        try {
          read = readSync(detached.fd, bytes)
        } catch {
          // EAGAIN: nothing has come yet.
          await new Promise(resolve => setImmediate(resolve))
        }
      detached.reattach({ left: detached.left - read })
      const rest = await buffer(body)
      return { all: detached.ahead.length + read + rest.length, complete: body.complete }
    })
    t.same(result, { all: length, complete: true })
  },
)

t.test(
  'detach-body: the packet of a request can be seen while the parser reads it, and when it reads the body',
  async t => {
    const head = 'PUT /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n'
    const seen: unknown[] = []
    const look = (published: unknown) => {
      const { socket } = (published as { request: IncomingMessage }).request
      const { parser } = socket as unknown as { parser: Parser }
      const packet = () => parser.getCurrentBuffer?.()?.toString()
      const slot = parser.constructor.kOnBody as number
      const original = parser[slot] as (piece: Buffer) => unknown
      parser[slot] = function (this: unknown, piece: Buffer) {
        seen.push([piece.toString(), packet(), socket.bytesRead])
        return Reflect.apply(original, this, [piece])
      }
      seen.push([packet(), socket.bytesRead])
    }
    subscribe('http.server.request.start', look)
    t.teardown(() => unsubscribe('http.server.request.start', look))
    const server = createServer(async (message, response) => {
      await new Promise(resolve => setImmediate(resolve))
      const { parser } = message.socket as unknown as { parser: Parser }
      seen.push(parser.getCurrentBuffer?.()?.length)
      message.resume().once('end', () => response.end())
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
    const one = await raw(t, (server.address() as AddressInfo).port)
    one.send(`${head}5\r\nab`)
    await until(async () => seen.length === 3, 'the first packet')
    one.send('cde\r\n0\r\n\r\n')
    await one.seen(/200 OK/)
    one.socket.destroy()
    t.same(seen, [
      [`${head}5\r\nab`, head.length + 5],
      ['ab', `${head}5\r\nab`, head.length + 5],
      0,
      ['cde', 'cde\r\n0\r\n\r\n', head.length + 15],
    ])
  },
)

t.test('detach-body: switched off, nothing is detached', async t => {
  const { mayDetach, detach } = createBodyDetacher(false)
  const result = await post(async body => {
    const answers = [mayDetach(body, 1), detach(body, 0, 1) === undefined]
    return [...answers, (await buffer(body)).length]
  })
  t.same(result, [false, true, length])
})

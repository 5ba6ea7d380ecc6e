/** Every reader of heads of HTTP/1.1 in this server refuses the same ones; the outbound proxy's requests are in `egress/hostile.test.ts`. */
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, createServer, type AddressInfo, type Server } from 'node:net'
import t from 'tap'
import { parseResponseHead } from '../../control/network/egress/http/response-head.ts'
import { readAnswerHead } from '../../control/core/channel/answer-head.ts'
import { readHead } from '../../shared/lane/head.ts'
import { serveWith } from '../../shared/http/server.ts'
import { oddAnswers, oddRequests } from '../support/odd-heads.ts'

const portOf = async (server: Pick<Server, 'listen' | 'address' | 'once'>): Promise<number> => {
  server.listen(0, '127.0.0.1')
  await once(server as Server, 'listening')
  return (server.address() as AddressInfo).port
}

const bytes = (head: string): Buffer => Buffer.from(`${head}\r\n\r\n`, 'latin1')

t.test('requests', async t => {
  let handled = 0
  const server = serveWith({
    request(message, response) {
      handled++
      message.resume()
      response.end()
    },
    upgrade: (_message, socket) => void socket.destroy(),
  })
  t.teardown(() => server.close())
  const port = await portOf(server)
  const ask = async (head: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    let said = ''
    socket.on('error', () => {}).on('data', piece => (said += piece))
    socket.end(bytes(head))
    await once(socket, 'close')
    return said
  }
  t.match(await ask('POST / HTTP/1.1\r\nHost: x.example\r\nConnection: close'), /^HTTP\/1\.1 200 /)
  t.ok(readHead('POST / HTTP/1.1\r\nHost: x.example', undefined))
  handled = 0
  for (const [name, head] of Object.entries(oddRequests('x.example'))) {
    t.equal(readHead(head, undefined), undefined, `the lane leaves to node: ${name}`)
    t.match(await ask(head), /^(HTTP\/1\.1 400 |$)/, `the server refuses: ${name}`)
  }
  t.equal(handled, 0)
})

/** What Node's client takes. Whoever passes its answers on frames the body anew, and names no encoding of theirs. */
const takenByNode = new Set([
  'chunks twice',
  'chunks twice in a list',
  'chunks that are not the last encoding',
  'an encoding that nobody knows',
  'an encoding in quotes',
  'a status that begins with nothing',
  'chunks in HTTP/1.0',
])

/** Whether Node's client, which asks where the gateway's own reader does not, takes an answer. */
const isTakenByNode = async (head: string): Promise<boolean> => {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end(bytes(head)))
  })
  const port = await portOf(server)
  const taken = await new Promise<boolean>(resolve => {
    const asked = request({ port, agent: false }, answer => {
      answer.on('error', () => {}).resume()
      resolve(true)
    })
    asked.on('error', () => resolve(false)).end()
  })
  server.close()
  return taken
}

t.test('answers', async t => {
  t.match(parseResponseHead('HTTP/1.1 200 OK\r\nContent-Length: 5', false), { framing: { length: 5 } })
  t.match(readAnswerHead('HTTP/1.1 200 OK\r\nContent-Length: 5', 'GET'), { framing: { bytes: 5 } })
  for (const [name, head] of Object.entries(oddAnswers)) {
    t.throws(() => parseResponseHead(head, false), `the outbound proxy refuses: ${name}`)
    t.throws(() => readAnswerHead(head, 'GET'), `the gateway refuses: ${name}`)
    t.equal(await isTakenByNode(head), takenByNode.has(name), `Node's client: ${name}`)
  }
})

import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import t, { type Test } from 'tap'
import { splice } from '../../../../../control/server/proxy/gateway/splice.ts'
import { fakeClock } from '../../../../support/clock.ts'
import { plainConnections } from '../../../../support/connections.ts'

const minute = 60_000

/** A workload that echoes after its handshake, a client spliced to it, and the holds there are. */
const spliced = async (t: Test) => {
  const clock = fakeClock()
  const connections = plainConnections(t)
  const holds = { now: 1, taken: 0 }
  const release = () => void holds.now--
  const workload = createServer()
  workload.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
    socket.pipe(socket)
  })
  const front = createServer()
  const done = Promise.withResolvers<void>()
  for (const server of [workload, front]) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.teardown(() => server.close())
  }
  const { port } = workload.address() as AddressInfo
  front.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const hold = async () => {
      holds.now++
      holds.taken++
      return release
    }
    splice(
      {
        to: { address: { host: '127.0.0.1', port } },
        target: '/',
        request,
        socket,
        head,
        withheld: { headers: new Set(), cookies: false },
        answerRules: { base: '', ours: [], shared: false, cookies: false },
        identity: [],
        release,
        hold,
      },
      { clock, connections },
    ).then(done.resolve, done.reject)
  })
  const client: Socket = connect((front.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => client.destroy())
  client.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
  t.match(String((await once(client, 'data'))[0]), /^HTTP\/1.1 101/)
  const echo = async (text: string) => {
    client.write(text)
    return String((await once(client, 'data'))[0])
  }
  return { clock, holds, client, echo, done: done.promise }
}

t.test('a socket that is silent for a quarter of an hour keeps nobody awake; its next byte does again', async t => {
  const { clock, holds, client, echo, done } = await spliced(t)
  t.equal(await echo('a'), 'a')
  t.same(holds, { now: 1, taken: 0 }, 'the hold it was given is the only one')
  await clock.tick(14 * minute)
  t.equal(holds.now, 1)
  await clock.tick(2 * minute)
  t.equal(holds.now, 0, 'let go')
  t.equal(await echo('b'), 'b')
  t.same(holds, { now: 1, taken: 1 })
  client.destroy()
  await done
  t.equal(holds.now, 0, 'nothing is held when it is over')
})

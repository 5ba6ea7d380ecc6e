import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { endGently } from '../../shared/end-gently.ts'

const size = 32 * 1024 * 1024

/** Two ends of a connection. */
const pair = async (t: Test): Promise<[Socket, Socket]> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [far] = (await once(server, 'connection')) as [Socket]
  for (const socket of [near, far]) {
    socket.on('error', () => {})
    t.teardown(() => socket.destroy())
  }
  return [near, far]
}

/** All that comes, from a moment on at which the other side has long written it. */
const readLate = async (socket: Socket): Promise<number> => {
  socket.pause()
  await sleep(300)
  let got = 0
  socket.on('data', (piece: Buffer) => (got += piece.length)).resume()
  if (!socket.closed) await once(socket, 'close')
  return got
}

t.test('what was written is sent before the end, also while the reader has sent what nobody reads', async t => {
  const [near, far] = await pair(t)
  near.write('unread')
  far.write(Buffer.alloc(size, 'x'))
  endGently(far)
  t.equal(await readLate(near), size)
  await sleep(10)
  t.ok(far.destroyed)
  endGently(far)
})

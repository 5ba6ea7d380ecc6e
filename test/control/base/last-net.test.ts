/** What a connection's handlers throw ends the connection and nothing else. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import t from 'tap'
import { createLastNet } from '../../../control/base/last-net.ts'
import type { Log } from '../../../shared/log.ts'

const net = createLastNet()
const nobodys: unknown[] = []
process.on('uncaughtException', error => {
  if (!net.caught(error)) nobodys.push(error)
})

const logged: [string, object | undefined][] = []
const log: Log = {
  debug() {},
  info() {},
  warn() {},
  error: (event, fields) => void logged.push([event, fields]),
  with: () => log,
}

/** Ways to throw `error` for what has come from `socket`. */
const ways: Readonly<Record<string, (socket: Socket, error: Error) => void>> = {
  'in a listener': (_socket, error) => {
    throw error
  },
  'later in the same turn': (_socket, error) =>
    process.nextTick(() => {
      throw error
    }),
  'in a timer': (_socket, error) =>
    setTimeout(() => {
      throw error
    }, 1),
  'in a promise': (_socket, error) => void Promise.resolve().then(() => Promise.reject(error)),
  'in what was connected for it': (_socket, error) => {
    const further = connect((server.address() as AddressInfo).port, '127.0.0.1')
    further.once('connect', () => {
      further.destroy()
      throw error
    })
  },
  'as an event that nobody listens to': (socket, error) => void socket.emit('error', error),
}

const server = createServer(socket =>
  net.guard(socket, log, () => {
    socket.once('data', way => ways[String(way)]?.(socket, new Error(`thrown ${String(way)}`)))
  }),
)
server.listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => server.close())

const dial = async (): Promise<Socket> => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

t.test('each of them ends its own connection', async t => {
  const other = await dial()
  for (const way of Object.keys(ways)) {
    const socket = await dial()
    socket.resume().write(way)
    await once(socket, 'close')
    t.match(logged.pop(), ['connection.threw', { error: { message: `thrown ${way}` }, from: '127.0.0.1' }], way)
  }
  t.same([logged, nobodys], [[], []])
  t.notOk(other.destroyed)
  other.destroy()
})

t.test('what is thrown beside them is nobody’s, also after one of them', async t => {
  const beside = createServer(socket => {
    socket.once('data', () => {
      socket.destroy()
      throw new Error('of the server itself')
    })
  })
  beside.listen(0, '127.0.0.1')
  await once(beside, 'listening')
  t.teardown(() => beside.close())
  const socket = await dial()
  socket.resume().write('later in the same turn')
  await once(socket, 'close')
  logged.pop()
  const asked = connect((beside.address() as AddressInfo).port, '127.0.0.1')
  asked.resume().write('x')
  await once(asked, 'close')
  t.match(nobodys, [{ message: 'of the server itself' }])
  t.same(logged, [])
})

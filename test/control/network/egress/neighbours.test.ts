/** Sandboxes of one network: what is connected to is the one that was meant, for as long as it is there. */
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import t from 'tap'
import type { Neighbour } from '../../../../control/network/egress/neighbours.ts'
import { startInternet } from '../../../support/internet/index.ts'
import { addresses, whyNoInternet } from '../../../support/internet/network.ts'
import { enterOwnNetwork } from '../../../support/tunnel-net.ts'
import { until } from '../../../support/until.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoInternet())
enterOwnNetwork()

/** Who has the address, and what happens while it is woken. */
const world = { owner: 'first', address: addresses.private as string, held: 0, woken: () => {}, looks: Infinity }

const neighbour = (): Neighbour => ({
  uid: world.owner,
  names: ['db', 'db.internal', world.address],
  address: world.address,
  closedPorts: [8080],
  async hold() {
    world.woken()
    world.held++
    return () => void world.held--
  },
})

const find = (sandbox: string, host: string): Neighbour | undefined => {
  if (sandbox !== 'sandbox') return undefined
  if (host === world.address && world.looks-- === 0) world.owner = 'second'
  return ['db', 'db.internal', world.address].includes(host) ? neighbour() : undefined
}

const internet = await startInternet({}, undefined, { neighbours: { find } })
t.teardown(internet.close)
const { sandbox, egress, reached } = internet
egress.setPolicy('sandbox', {})
egress.setPolicy('neighbour', {})
t.beforeEach(
  () => void Object.assign(world, { owner: 'first', address: addresses.private, woken() {}, looks: Infinity }),
)

t.test('by its name, on all ports but those of its daemon, and by nobody else', async t => {
  t.match(await sandbox.get('http://db.internal/is-there'), { status: 200 })
  t.equal(reached('is-there').length, 1)
  t.match(await sandbox.get('http://db.internal:8080/'), { status: 403 })
  t.match(await internet.neighbour.get(`http://${addresses.private}/not-mine`), { status: 403 })
  t.match(await internet.neighbour.get('http://db.internal/not-mine'), { status: 502 })
  t.same(reached('not-mine'), [])
  await until(() => world.held === 0, 'it may sleep again')
})

t.test('an address that has become somebody else’s is not connected to', async t => {
  world.woken = () => void (world.owner = 'second')
  t.match(await sandbox.get('http://db.internal/while-it-woke'), { status: 502 })
  world.owner = 'first'
  world.woken = () => void (world.looks = 1)
  t.match(await sandbox.get('http://db.internal/while-it-was-dialled'), { status: 502 })
  t.equal(world.owner, 'second', 'it changed in between')
  t.same([...reached('while-it')], [])
  t.equal(world.held, 0)
})

/** A server that says what it hears, and those connected to it. */
const listener = async (address: string, port: number) => {
  const heard: string[] = []
  const sockets: Socket[] = []
  const server = createServer(socket => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.on('data', piece => {
      heard.push(piece.toString())
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi')
    })
  }).listen(port, address)
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { heard, sockets }
}

t.test('one that is made anew is another: no connection to the first is used again', async t => {
  const [before, after] = [await listener(addresses.private, 5000), await listener(addresses.shared, 5000)]
  const say = async () => {
    const answer = await sandbox.get('http://db.internal:5000/')
    t.equal(answer.status, 200)
  }
  await say()
  await say()
  t.same([before.heard.length, before.sockets.length], [2, 1], 'a connection is kept')
  const tunnel = await sandbox.tunnel('db.internal:5000')
  if ('status' in tunnel) throw new Error('no tunnel')
  tunnel.write('no HTTP at all\n')
  await once(tunnel, 'data')
  t.equal(world.held, 2)
  // Its machine goes, and another has its name at another address.
  egress.disconnect('first')
  await once(tunnel, 'close')
  Object.assign(world, { owner: 'third', address: addresses.shared })
  await say()
  t.same([before.heard.length, after.heard.length], [3, 1])
  await until(() => world.held <= 1, 'nothing of the first is held')
  t.same(internet.errors, [])
})

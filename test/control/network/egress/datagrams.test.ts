/** UDP goes to what the owner has allowed by address, and nowhere else; the redirection is a real one, as the fence makes it. */
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import { startInternet } from '../../../support/internet/index.ts'
import { addresses, whyNoInternet } from '../../../support/internet/network.ts'
import { skipFile } from '../../../support/skip-file.ts'
import { enterOwnNetwork, shell } from '../../../support/tunnel-net.ts'

skipFile(whyNoInternet())
enterOwnNetwork()
const internet = await startInternet({ allowNetworks: ['10.0.0.0/8'], closedNetworks: ['10.88.0.0/24'] })
t.teardown(internet.close)
const { egress, reached } = internet
/** Nobody's here. */
const nowhere = '198.51.100.200'
const { single, attacker, metadata, shared, sandbox, neighbour } = addresses

const bound = async (source: string) => {
  const socket = createSocket('udp4').bind(0, source)
  await once(socket, 'listening')
  return socket.unref()
}

interface Asked {
  readonly port?: number
  readonly from?: string
  readonly ms?: number
  readonly socket?: Promise<Socket>
}

/** What a datagram is answered with, and from where; undefined where nothing comes. */
const ask = async (
  text: string,
  to: string,
  { port = 9000, from = sandbox, ms = 120, socket = bound(from) }: Asked = {},
) => {
  const sender = await socket
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(), ms)
  sender.send(text, port, to)
  try {
    const [bytes, info] = await once(sender, 'message', { signal: controller.signal })
    return `${bytes} from ${info.address}:${info.port}`
  } catch {
    return undefined
  } finally {
    clearTimeout(timer)
  }
}

const patient = { ms: 5_000 }
const last = (count = 1) => egress.events('sandbox', 0, 10_000).events.slice(-count)
const settled = () => new Promise(resolve => setTimeout(resolve, 150))

t.test('to an address that is allowed, and back from it', async t => {
  egress.setPolicy('sandbox', { allowedDomains: [single], datagrams: [single] })
  egress.setPolicy('neighbour', { allowedDomains: ['*'] })
  t.equal(await ask('there', single, patient), `there from ${single}:9000`)
  t.match(last(), [{ verdict: 'allowed', rule: single, host: single, port: 9000, protocol: 'udp', kind: 'connection' }])
  const big = 'b'.repeat(20_000)
  t.equal(await ask(big, single, patient), `${big} from ${single}:9000`, 'also in fragments')
})

t.test('and to no other', async t => {
  const before = internet.log.entries.length
  const closed = [
    ['elsewhere', attacker, 9000],
    ['QUIC', single, 443],
    ['metadata', metadata, 9000],
    ['not opened', shared, 9000],
    ['itself', addresses.engine, egress.ports.datagrams],
    ['a neighbour', neighbour, 9000],
    ['a broadcast', '10.88.0.255', 9000],
  ] as const
  const answers = await Promise.all(closed.map(([what, to, port]) => ask(what, to, { port })))
  t.same(
    answers,
    closed.map(() => undefined),
  )
  t.equal(await ask('the one of somebody else', single, { from: neighbour }), undefined, 'from another sandbox')
  t.equal(internet.log.entries.length, before, 'nobody has heard anything')
  const told = last(8).map(({ verdict, reason, host }) => `${verdict} ${reason} ${host}`)
  t.ok(told.includes(`blocked not_allowed ${attacker}`), told.join())
  t.ok(told.includes(`blocked closed_address ${metadata}`))
})

t.test('lists that name no address let none out, and what is forbidden stays so', async t => {
  for (const [what, policy] of [
    ['a list of everything', { allowedDomains: ['*'] }],
    ['no list', {}],
    ['a network that is always bypassed', { bypass: ['203.0.113.0/24'] }],
    ['another port', { datagrams: [`${single}:9001`] }],
    ['forbidden besides', { datagrams: [single], forbiddenDomains: [single] }],
    ['forbidden in part', { datagrams: [single], forbiddenDomains: [`POST:${single}`] }],
    ['canaries are to be seen', { datagrams: [single], canary: 'strict' }],
    ['metadata', { datagrams: [metadata], bypass: [metadata] }],
  ] as const) {
    egress.setPolicy('sandbox', policy)
    t.equal(await ask(what, what === 'metadata' ? metadata : single), undefined, what)
  }
  egress.setPolicy('sandbox', { datagrams: [`${single}:9000`] })
  t.ok(egress.letsDatagrams('sandbox', single, 9000))
  t.notOk(egress.letsDatagrams('sandbox', single, 9001))
  t.notOk(egress.letsDatagrams('nobody', single, 9000))
  t.equal(await ask('this port', single, patient), `this port from ${single}:9000`)
  egress.setPolicy('sandbox', { datagrams: ['203.0.113.0/24'] })
  t.equal(await ask('this network', single, patient), `this network from ${single}:9000`)
})

t.test('one port may send to several places, each by itself', async t => {
  egress.setPolicy('sandbox', { datagrams: [single] })
  const socket = Promise.resolve(await bound(sandbox))
  t.equal(await ask('one', single, { ...patient, socket }), `one from ${single}:9000`)
  t.equal(await ask('stray', attacker, { socket }), undefined)
  t.equal(await ask('two', single, { ...patient, socket }), `two from ${single}:9000`)
  t.same(reached('stray'), [])
})

t.test('what is open ends when it is not allowed any more', async t => {
  const socket = Promise.resolve(await bound(sandbox))
  t.equal(await ask('before', single, { ...patient, socket }), `before from ${single}:9000`)
  egress.setPolicy('sandbox', { datagrams: [attacker] })
  t.match(last(), [{ verdict: 'blocked', reason: 'not_allowed', host: single, port: 9000, protocol: 'udp' }])
  t.equal(await ask('after', single, { socket }), undefined)
  egress.setPolicy('sandbox', { datagrams: [single] })
  t.equal(await ask('again', single, { ...patient, socket }), `again from ${single}:9000`, 'at once, when it is again')
  egress.remove('sandbox')
  t.equal(await ask('gone', single, { socket }), undefined)
  await settled()
  t.same([...reached('after'), ...reached('gone')], [])
})

t.test('modes that only look on stop nothing but what the fence does', async t => {
  egress.setPolicy('sandbox', { allowedDomains: ['open.example'], mode: 'record' })
  t.equal(await ask('watched', attacker, patient), `watched from ${attacker}:9000`)
  t.match(last(), [{ verdict: 'would_block', reason: 'not_allowed', host: attacker, protocol: 'udp' }])
  t.same(egress.learned('sandbox').allowedDomains, [attacker])
  t.equal(await ask('closed', metadata), undefined)
})

t.test('it leaves from the address that the sandbox has', async t => {
  egress.setPolicy('sandbox', { datagrams: [single] }, { sourceAddress: addresses.host })
  const far = createSocket('udp4').bind(9200, single)
  const heard = once(far, 'message')
  await ask('where from', single, { port: 9200 })
  t.equal((await heard)[1].address, addresses.host)
  far.close()
  t.same(internet.errors, [])
})

t.test('where the box has no way: said, tried again a second later, and nothing else comes of it', async t => {
  // The sandbox has a way to the engine, which has none.
  shell(`ip route add default dev lo table 77; ip rule add from ${sandbox} lookup 77`)
  egress.setPolicy('sandbox', { datagrams: [nowhere] })
  const socket = Promise.resolve(await bound(sandbox))
  t.equal(await ask('no way', nowhere, { socket }), undefined)
  await settled()
  t.match(last(), [{ verdict: 'blocked', reason: 'unreachable', host: nowhere, protocol: 'udp' }])
  const { seq } = last()[0] as { seq: number }
  for (let turn = 0; turn < 20; turn++) await ask('still none', nowhere, { socket, ms: 10 })
  t.equal(last()[0]?.seq, seq, 'not with each datagram')
  shell(`ip addr add ${nowhere}/32 dev lo`)
  const there = createSocket('udp4').bind(9000, nowhere)
  there.on('message', (bytes, from) => there.send(bytes, from.port, from.address))
  await once(there, 'listening')
  await new Promise(resolve => setTimeout(resolve, 1_000))
  t.equal(await ask('now', nowhere, { ...patient, socket }), `now from ${nowhere}:9000`)
  there.close()
  t.same(internet.errors, [])
})

t.test('of what is sent in vain few events are kept', async t => {
  egress.setPolicy('sandbox', {})
  const from = egress.events('sandbox', 0, 1).next
  const { events } = egress.events('sandbox', 0, 10_000)
  const before = events.at(-1)?.seq ?? from
  const socket = await bound(sandbox)
  for (let port = 2000; port < 2300; port++) socket.send('noise', port, attacker)
  await settled()
  const told = egress.events('sandbox', before, 1_000).events.length
  t.ok(told >= 1 && told <= 25, `${told} events`)
  socket.close()
  t.same(reached('noise'), [])
})

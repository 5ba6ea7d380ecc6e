/** What a name server says is believed as far as it answers what was asked. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import packet, { type Answer, type DecodedPacket } from 'dns-packet'
import t, { type Test } from 'tap'
import { createResolver } from '../../../../control/network/egress/dns/resolver.ts'
import { createFence } from '../../../../control/network/egress/fence.ts'
import { createTenant } from '../../../../control/network/egress/tenant.ts'

type Say = (query: DecodedPacket, udp: boolean) => object | undefined

const a = (data: string, name = 'a.example', ttl = 60) => ({ type: 'A', name, ttl, data }) as Answer
const alias = (name: string, data: string) => ({ type: 'CNAME', name, ttl: 60, data }) as Answer

/** A server on loopback that answers as `say` has it, over both. */
const startServer = async (t: Test, say: Say) => {
  const answer = (bytes: Buffer, udp: boolean): Buffer | undefined => {
    const query = packet.decode(bytes)
    const said = say(query, udp)
    const { id = 0, questions = [] } = query
    return said && packet.encode({ type: 'response', id, flags: 0x8180, questions, ...said })
  }
  const tcp = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', bytes => {
      const made = answer(bytes.subarray(2), false) ?? Buffer.alloc(0)
      socket.end(Buffer.concat([Buffer.from([made.length >> 8, made.length & 255]), made]))
    })
  })
  tcp.listen(0, '127.0.0.1')
  await once(tcp, 'listening')
  const { port } = tcp.address() as { port: number }
  const udp = createSocket('udp4')
  udp.bind(port, '127.0.0.1')
  await once(udp, 'listening')
  udp.on('message', (bytes, from) => {
    const made = answer(bytes, true)
    if (made) udp.send(made, from.port, from.address)
  })
  t.teardown(() => {
    udp.close()
    tcp.close()
  })
  return { host: '127.0.0.1', port }
}

const ask = async (t: Test, say: Say, policy: object = {}) => {
  const fence = createFence({ allowNetworks: [], closedNetworks: [], ownAddresses: () => new Set() })
  const tenant = createTenant('a', policy, { now: () => 0, limits: { events: 1 } })
  t.teardown(tenant.pool.close)
  return createResolver({ fence, servers: [await startServer(t, say)] }).resolve(tenant, 'a.example')
}
const answers = (...list: Answer[]) => ({ answers: list })

t.test('addresses that are open, sixteen at most, and no longer than an hour or shorter than five seconds', async t => {
  const mixed = await ask(t, () => answers(a('10.0.0.1'), a('203.0.113.7'), a('169.254.169.254'), a('127.0.0.1')))
  t.match(mixed, { kind: 'found', addresses: ['203.0.113.7'], ttlMs: 60_000 })
  t.equal((mixed as unknown as { addresses: string[] }).addresses.length, 1)
  t.match(await ask(t, () => answers(a('10.0.0.1'), a('192.168.0.1'))), { kind: 'closed' })
  const many = Array.from({ length: 300 }, (_, at) => a(`203.0.${at >> 8}.${at & 255}`))
  const found = await ask(t, (_, udp) => (udp ? { flags: 0x8180 | packet.TRUNCATED_RESPONSE } : answers(...many)))
  t.equal((found as unknown as { addresses: string[] }).addresses.length, 16, 'over TCP, where it was cut')
  t.match(await ask(t, () => answers(a('203.0.113.7', 'a.example', 0))), { ttlMs: 5_000 })
  t.match(await ask(t, () => answers(a('203.0.113.7', 'a.example', 999_999))), { ttlMs: 3_600_000 })
})

t.test('by the names that hang together with what was asked', async t => {
  const chain = (...names: string[]) => names.slice(1).map((name, at) => alias(names[at] as string, name))
  t.match(await ask(t, () => answers(...chain('a.example', 'b.example'), a('203.0.113.7', 'b.example'))), {
    addresses: ['203.0.113.7'],
  })
  t.match(await ask(t, () => answers(...chain('a.example', 'b.example'), a('10.0.0.1', 'b.example'))), {
    kind: 'closed',
  })
  t.match(await ask(t, () => answers(a('203.0.113.7', 'b.example'))), { kind: 'empty' }, 'of another name')
  t.match(await ask(t, () => answers(...chain('a.example', 'b.example', 'a.example'))), { kind: 'empty' }, 'a circle')
  const long = chain('a.example', ...Array.from({ length: 9 }, (_, at) => `n${at}.example`))
  t.match(await ask(t, () => answers(...long, a('203.0.113.7', 'n8.example'))), { kind: 'empty' }, 'too long a chain')
  const forbidding = { forbiddenDomains: ['bad.example'] }
  const through = answers(...chain('a.example', 'bad.example', 'c.example'), a('203.0.113.7', 'c.example'))
  t.match(await ask(t, () => through, forbidding), { kind: 'forbidden', name: 'bad.example' }, 'in the middle, too')
})

t.test('and by nobody who answers something else', async t => {
  const lie = { answers: [a('203.0.113.66', 'evil.example')] }
  const other = [{ type: 'A' as const, name: 'evil.example' }]
  // Only over UDP somebody else may answer; there the true one may still come.
  for (const wrong of [
    { ...lie, questions: other },
    { answers: [a('203.0.113.66')], id: 1 },
    { answers: [a('203.0.113.66')], questions: [{ type: 'A' as const, name: 'a.example' }, ...other] },
    { answers: [a('203.0.113.66')], type: 'query' },
  ])
    await t.rejects(
      ask(t, ({ id = 0 }, udp) =>
        udp ? { flags: 0x8180 | packet.TRUNCATED_RESPONSE } : { ...wrong, ...('id' in wrong && { id: id ^ 1 }) },
      ),
      { code: 'unavailable' },
    )
})

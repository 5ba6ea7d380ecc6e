/** Sandboxes bound to an egress gateway leave from its addresses, and from nowhere else. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { addresses, whyNoInternet } from '../support/internet/network.ts'
import { startWorld, type World } from '../support/internet/world.ts'
import { whyNoMachines } from '../support/machine.ts'
import { enterOwnNetwork, shell } from '../support/tunnel-net.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines() ?? whyNoInternet())
enterOwnNetwork()
t.setTimeout(240_000)

const pool = ['192.0.2.10', '192.0.2.11']

/** A server of the world that says whom it sees. */
const mirror = async (): Promise<string> => {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', () => {})
    socket.end(`HTTP/1.0 200 OK\r\n\r\n${socket.remoteAddress}\n`)
  })
  server.listen(7777, addresses.single)
  await once(server, 'listening')
  server.unref()
  return `${addresses.single}/7777`
}

const sandboxes = ({ server }: World) => ({
  create: (name: string, spec: object) =>
    server.call('POST', '/v0/sandboxes', {
      metadata: { name },
      spec: { runtime: { image: 'base', memory: 512 }, ...spec },
    }),
  async run(name: string, command: string): Promise<string> {
    await server.until(name, ({ status }) => status === 'DEPLOYED')
    const body = { command, waitForCompletion: true, timeout: 60 }
    const answer = await server.call('POST', `/default/sandboxes/${name}/process`, body)
    return answer.body?.logs?.trim() ?? answer.text
  },
})

t.test('egress gateways', async t => {
  const world = await startWorld(t, { HUTCH_EGRESS_ADDRESSES: pool.join(','), HUTCH_STANDBY_SECONDS: '600' })
  shell(
    pool.map(address => `ip -n box addr add ${address}/32 dev lo; ip route add ${address} via 10.250.0.2`).join('\n'),
  )
  const { server } = world
  const { create, run } = sandboxes(world)
  const place = await mirror()
  const datagrams = createSocket('udp4').bind(9300, '203.0.113.20')
  datagrams.on('message', (_, from) => datagrams.send(`${from.address}\n`, from.port, from.address))
  t.teardown(() => datagrams.close())
  const seen = (name: string) => run(name, `bash -c 'exec 3<>/dev/tcp/${place}; cat <&3 | tail -n 1' 2>&1 || true`)
  const gateways = '/v0/vpcs/default/egressgateways'
  const bound = { network: { egress: { mode: 'dedicated', gateway: 'office' } } }

  await t.test('a gateway takes addresses of the pool', async t => {
    const gateway = { metadata: { name: 'office' }, spec: { region: 'local' } }
    t.match(await create('early', bound), { status: 400, body: { message: /gateway.*"office" not found/ } })
    t.match(await server.call('POST', gateways, gateway), { status: 200, body: { status: 'DEPLOYED' } })
    t.match(await create('early', bound), { status: 400, body: { message: /has no address/ } })
    const add = (name: string, spec: object = {}) =>
      server.call('POST', `${gateways}/office/ips`, { metadata: { name }, spec })
    t.match(await add('six', { ipFamily: 'IPv6' }), {
      status: 400,
      body: { message: /^spec.ipFamily: IPv6 is closed/ },
    })
    const made = await Promise.all([add('a'), add('b')])
    t.same(made.map(({ body }) => body.spec.publicIp).toSorted(), pool)
    t.match(await add('c'), { body: { status: 'FAILED', events: [{ message: /no address .* is free/ }] } })
    t.match((await server.call('GET', '/v0/configuration')).body.regions, [{ egressAvailable: true }])
  })

  const names = ['g1', 'g2', 'g3', 'g4']
  await t.test('what is bound to it leaves from there', async t => {
    for (const name of names) t.equal((await create(name, bound)).status, 200)
    await create('free', {})
    t.equal(await seen('free'), '10.250.0.2')
    for (const name of names) {
      const from = await seen(name)
      t.ok(pool.includes(from), `${name}: ${from}`)
      const [host, port] = place.split('/')
      t.match(await run(name, `curl -sS -m 5 http://${host}:${port}/`), from, 'the same by the proxy')
      t.match(await run(name, 'ping -c 1 -W 1 203.0.113.10 >/dev/null && echo out || echo stays'), 'stays')
    }
  })

  await t.test('it is bound for good', async t => {
    const put = (network?: object) => server.call('PUT', '/v0/sandboxes/g1', { spec: { network } })
    const before = await seen('g1')
    t.equal((await put()).status, 200)
    t.equal(await seen('g1'), before, 'cleared, it keeps its gateway')
    t.equal((await put({ allowedDomains: ['203.0.113.20:9300'] })).status, 200)
    const ask = "bash -c 'exec 3<>/dev/udp/203.0.113.20/9300; echo >&3; timeout 10 head -n 1 <&3'"
    t.equal(await run('g1', ask), before, 'UDP leaves from there, too')
    t.equal((await put()).status, 200)
    t.match(await put({ egress: { gateway: 'home' } }), {
      status: 400,
      body: { message: /bound when a sandbox is cre/ },
    })
    t.match(await server.call('PUT', '/v0/sandboxes/free', { spec: bound }), { status: 400 })
    t.match((await server.call('GET', '/v0/egressgateways/usage')).body, { office: names })
    for (const path of ['office', 'office/ips/a'])
      t.match(await server.call('DELETE', `${gateways}/${path}`), { status: 409, body: { message: /sandbox "g1"/ } })
  })

  const events = async () => (await server.call('GET', '/v0/sandboxes/g2/egress/events?limit=1000')).body.data
  // One that is gone before it is looked for is not found.
  await run('g2', `bash -c 'exec 3<>/dev/tcp/${place}; read -t 1 <> <(:)'`)
  const told = await events()
  t.match(told.at(-1), { verdict: 'allowed', said: { pid: Number, process: 'bash', command: /^bash -c exec 3<>/ } })
  await server.kill()
  await server.start()
  await t.test('after a restart of the server, and when its address is gone', async t => {
    const from = await seen('g1')
    t.ok(pool.includes(from), from)
    t.same((await events()).slice(0, told.length), told, 'its decisions can still be read')
    shell(`ip -n box addr del ${from}/32 dev lo`)
    t.notMatch(await seen('g1'), /\d+\.\d+\.\d+\.\d+$/, 'it leaves from nowhere else')
  })

  for (const name of names) await server.call('DELETE', `/v0/sandboxes/${name}`)
  await Promise.all(
    names.map(name => server.until(name, ({ status }, code) => code === 404 || status === 'TERMINATED')),
  )
  const addresses = (await server.call('GET', `${gateways}/office/ips`)).body as { metadata: { name: string } }[]
  for (const {
    metadata: { name },
  } of addresses)
    t.match(await server.call('DELETE', `${gateways}/office/ips/${name}`), { status: 200 })
  t.match(await server.call('DELETE', `${gateways}/office`), { status: 200 })
  t.same((await server.call('GET', '/v0/egressips')).body, [])
})

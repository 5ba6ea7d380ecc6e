/** Networks of sandboxes from end to end: a whole server and real machines of a runtime. */
import { spawnSync } from 'node:child_process'
import type { Test } from 'tap'
import { startWorld, type World } from './internet/world.ts'
import { shell } from './tunnel-net.ts'

interface Sandbox {
  readonly name: string
  readonly address: string
  run(command: string): Promise<string>
}

const make = async ({ server }: World, name: string, spec: object): Promise<Sandbox> => {
  const runtime = { image: 'base', memory: 512 }
  const made = await server.call('POST', '/v0/sandboxes', { metadata: { name }, spec: { runtime, ...spec } })
  if (made.status !== 200) throw new Error(`no sandbox: ${made.text}`)
  await server.until(name, ({ status }) => status === 'DEPLOYED')
  const run = async (command: string): Promise<string> => {
    const body = { command, waitForCompletion: true, timeout: 60 }
    const answer = await server.call('POST', `/default/sandboxes/${name}/process`, body)
    return answer.body?.logs?.trim() ?? answer.text
  }
  const address = /inet (\S+)\//.exec(await run('ip -4 addr show dev eth0'))?.[1] ?? ''
  return { name, address, run }
}

/** Says its name to whoever connects. Not waited for by its port: on gVisor nobody sees from inside whose a port is. */
const serve = async ({ server }: World, { name, run }: Sandbox): Promise<string> => {
  const command = `mkdir -p /srv && echo i-am-${name} > /srv/index.html && cd /srv && exec python3 -m http.server 3000`
  await server.call('POST', `/default/sandboxes/${name}/process`, { command, name: 'http' })
  return run(
    'for i in $(seq 100); do curl -sS --noproxy "*" http://127.0.0.1:3000/ 2>/dev/null && break; sleep 0.2; done',
  )
}

/** `0100007F:0BB8` of the kernel's table. */
const portOf = (line: string): number => Number.parseInt(line.split(':').at(-1) ?? '', 16)

const fetchFrom = ({ run }: Sandbox, host: string, more = '') =>
  run(`curl -sS -m 2 ${more} http://${host}:3000/ 2>&1 || true`)

const namespaceOf = ({ server }: World, { address }: Sandbox): string => {
  const all = shell(`ls /run/netns | grep ${server.names.netnsPrefix}`).trim().split('\n')
  return all.find(name => shell(`ip -n ${name} -4 addr show dev eth0`).includes(` ${address}/`)) ?? ''
}

export const vpcSuite = async (t: Test, runtime: string): Promise<void> => {
  const world = await startWorld(t, { HUTCH_RUNTIME: runtime, HUTCH_STANDBY_SECONDS: '3' })
  const { server } = world
  for (const name of ['lab', 'other'])
    t.match(await server.call('POST', '/v0/vpcs', { metadata: { name }, spec: {} }), { body: { status: 'DEPLOYED' } })
  const [one, two, far, alone] = await Promise.all([
    make(world, 'one', { vpc: 'lab' }),
    make(world, 'two', { vpc: 'lab', network: { allowedDomains: ['open.example'] } }),
    make(world, 'far', { vpc: 'other' }),
    make(world, 'alone', {}),
  ])
  for (const each of [one, two, far, alone]) t.equal(await serve(world, each), `i-am-${each.name}`)
  const past = '--noproxy "*"'

  const holds = async (t: Test): Promise<void> => {
    for (const more of ['', past]) {
      t.equal(await fetchFrom(one, 'two', more), 'i-am-two', `by name ${more}`)
      t.equal(await fetchFrom(one, two.address, more), 'i-am-two', `by address ${more}`)
      t.equal(await fetchFrom(two, 'one.internal', more), 'i-am-one', `whatever else it may reach ${more}`)
    }
    t.match(await one.run('getent hosts two'), two.address)
    for (const [from, to] of [
      [one, far],
      [one, alone],
      [far, two],
      [alone, one],
      [alone, far],
    ] as const)
      for (const host of [to.name, to.address])
        t.notMatch(await fetchFrom(from, host, '-m 1 --noproxy "*"'), 'i-am', `${from.name} to ${to.name} at ${host}`)
  }
  await t.test('its members reach each other, and nobody else', holds)

  await t.test('what a neighbour has of the host is not theirs', async t => {
    // Not `ss`: gVisor has nothing that it could ask.
    const listening = (await two.run('cat /proc/net/tcp /proc/net/tcp6 | awk \'$4 == "0A" {print $2}\''))
      .split('\n')
      .map(portOf)
    t.ok(listening.includes(3000) && listening.length > 1, listening.join(' '))
    for (const port of listening.filter(one => one !== 3000))
      t.match(
        await one.run(`curl -sS -m 5 ${past} http://two:${port}/health `),
        'this address is closed to sandboxes',
        String(port),
      )
  })

  await t.test('nobody becomes a member by what he sends', async t => {
    const netns = namespaceOf(world, far)
    const inside = (...args: string[]) =>
      spawnSync('nsenter', [`--net=/run/netns/${netns}`, ...args], { encoding: 'utf8' })
    inside('ip', 'addr', 'add', `${one.address}/32`, 'dev', 'lo')
    const curl = ['curl', '-sS', '-m', '1', '--interface', one.address, `http://${two.address}:3000/`]
    t.notMatch(inside(...curl).stdout, 'i-am')
    inside('ip', 'addr', 'del', `${one.address}/32`, 'dev', 'lo')
  })

  await t.test('one that sleeps is woken by a neighbour', async t => {
    await server.until('two', ({ state }) => state === 'STANDBY')
    t.equal(await fetchFrom(one, 'two', past), 'i-am-two')
  })

  await t.test('what is used stays', async t => {
    t.match(await server.call('DELETE', '/v0/vpcs/lab'), { status: 409, body: { message: /sandbox "one"/ } })
    const put = (spec: object) => server.call('PUT', '/v0/sandboxes/one', { spec })
    t.match(await put({ vpc: 'other' }), { status: 400, body: { message: /^spec.vpc: cannot be changed/ } })
    t.match(await put({ vpc: 'lab' }), { status: 200 })
    const spec = { runtime: { image: 'base' }, vpc: 'none' }
    t.match(await server.call('POST', '/v0/sandboxes', { spec }), {
      status: 400,
      body: { message: /spec.vpc: vpc "none" not found/ },
    })
  })

  await server.kill()
  await server.start()
  await t.test('after a restart of the server', holds)
}

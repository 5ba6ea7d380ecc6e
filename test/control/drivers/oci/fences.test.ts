import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import t, { type Test } from 'tap'
import type { Machine } from '../../../../control/drivers/driver.ts'
import { fencesStand, lowerFences, raiseFences } from '../../../../control/drivers/oci/net/firewall.ts'
import { namesOf } from '../../../../control/drivers/oci/names.ts'
import { whyNoMachines } from '../../../support/machine.ts'
import { makeKit, openBox, sh } from '../../../support/oci.ts'
import { skipFile } from '../../../support/skip-file.ts'

skipFile(whyNoMachines())
const kit = makeKit(t.testdir())

const listener = async (t: Test): Promise<number> => {
  const server = createServer(socket => socket.end('hello\n')).listen(0, '0.0.0.0')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** True when the machine gets a TCP connection there. What is fenced is dropped, so a no takes `seconds`. */
const reaches = async (machine: Machine, host: string, port: number, seconds = 2): Promise<boolean> =>
  (await sh(machine, `nc -w ${seconds} ${host} ${port} </dev/null`)).code === 0
const patient = 40

const gatewayOf = async (machine: Machine): Promise<string> =>
  (await sh(machine, "ip route | awk '/^default/ {print $3}'")).out.trim()

t.test('a machine reaches the allowed port of its gateway and nothing else of the host', async t => {
  const [allowed, other] = [await listener(t), await listener(t)]
  const box = await openBox(t, kit, { hostPorts: [allowed] })
  const machine = await box.driver.create(box.spec('a'))
  const gateway = await gatewayOf(machine)
  t.equal(await reaches(machine, gateway, allowed, patient), true)
  t.equal(await reaches(machine, gateway, other), false)
  const addresses = Object.values(networkInterfaces())
    .flatMap(list => list ?? [])
    .filter(({ family, internal, address }) => family === 'IPv4' && !internal && !address.startsWith('10.89.'))
  for (const { address } of addresses.slice(0, 1)) {
    t.equal(await reaches(machine, address, other), false, `${address}, another address of the host`)
    t.equal(await reaches(machine, address, allowed), false, 'the allowed port is open at the gateway address only')
  }
})

t.test('two machines do not reach each other, though the host reaches both', async t => {
  const box = await openBox(t, kit)
  const [a, b] = await Promise.all(['a', 'b'].map(id => box.driver.create(box.spec(id))))
  const { host, port } = (b as Machine).address as { host: string; port: number }
  t.equal((await sh(b as Machine, 'true')).code, 0)
  t.equal(await reaches(a as Machine, '127.0.0.1', port, patient), true, 'its own daemon')
  t.equal(await reaches(a as Machine, host, port), false)
})

t.test('a packet with a forged source address is dropped on arrival', async t => {
  const allowed = await listener(t)
  const box = await openBox(t, kit, { hostPorts: [allowed] })
  const machine = await box.driver.create(box.spec('a'))
  const gateway = await gatewayOf(machine)
  const dropped = () =>
    Number(
      /^\s*(\d+)\s+\d+\s+DROP/m.exec(
        execFileSync('iptables', ['-w', '10', '-t', 'raw', '-vxnL', box.names.chain], { encoding: 'utf8' }),
      )?.[1],
    )
  t.equal(await reaches(machine, gateway, allowed, patient), true)
  const before = dropped()
  await sh(
    machine,
    `ip addr add 203.0.113.7/32 dev lo
     ip route add ${gateway}/32 dev eth0 src 203.0.113.7
     nc -w 1 ${gateway} ${allowed} </dev/null`,
  )
  t.ok(dropped() > before, 'the reverse path rule has counted it')
})

t.test('metadata services, private networks and IPv6 are behind the fence', async t => {
  const box = await openBox(t, kit)
  const machine = await box.driver.create(box.spec('a'))
  const rules = execFileSync('iptables', ['-w', '10', '-vxnL', box.names.chain], { encoding: 'utf8' })
  const before = (network: string) =>
    Number(new RegExp(`^\\s*(\\d+).*DROP.* ${network.replaceAll('.', '\\.')}`, 'm').exec(rules)?.[1])
  for (const network of ['169.254.0.0/16', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'])
    t.equal(before(network), 0, `${network} has a rule`)
  const addresses = ['169.254.169.254', '10.1.2.3', '172.16.9.9', '192.168.1.1', '100.100.100.200']
  await Promise.all(addresses.map(address => sh(machine, `nc -w 1 ${address} 80 </dev/null`)))
  const after = execFileSync('iptables', ['-w', '10', '-vxnL', box.names.chain], { encoding: 'utf8' })
  for (const network of ['169.254.0.0/16', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'])
    t.ok(
      Number(new RegExp(`^\\s*(\\d+).*DROP.* ${network.replaceAll('.', '\\.')}`, 'm').exec(after)?.[1]) > 0,
      `${network} was dropped`,
    )
  t.notMatch((await sh(machine, 'ip -6 addr show dev eth0')).out, /inet6/)
})

t.test('fences that somebody took down stand again before the next machine gets a network', async t => {
  const box = await openBox(t, kit, { settings: { slotsAhead: 1 } })
  t.equal(await fencesStand(box.names), true)
  const hook = ['FORWARD', '-i', `${box.names.interfacePrefix}+`, '-j', box.names.chain]
  execFileSync('iptables', ['-w', '10', '-D', ...hook])
  t.equal(await fencesStand(box.names), false)
  // The one spare slot may be older than the deed; the second is made after it.
  await box.driver.create(box.spec('a'))
  await box.driver.create(box.spec('b'))
  t.equal(await fencesStand(box.names), true)
})

t.test(
  'fences that others take down at the same time are down in the end, and nobody is told of a failure',
  async t => {
    // No driver has them: one would put them up again.
    const names = namesOf(`f${process.pid.toString(36)}`)
    // TEST-NET-3 (RFC 5737): nobody routes there.
    const block = { base: 0xcb007100, prefix: 24 }
    const none = { hostPorts: [], resolvers: [], allowed: [], connections: undefined, datagrams: undefined }
    const fences = { names, subnet: block, block, ...none, outbound: undefined }
    t.teardown(() => lowerFences(names))
    const standing = () => execFileSync('iptables-save', { encoding: 'utf8' }).includes(names.chain)
    for (let round = 0; round < 5; round++) {
      await raiseFences(fences)
      t.equal(standing(), true)
      const taken = await Promise.allSettled([1, 2, 3].map(() => lowerFences(names)))
      t.same(
        taken.flatMap(one => (one.status === 'rejected' ? [String(one.reason)] : [])),
        [],
      )
      t.equal(standing(), false)
    }
  },
)

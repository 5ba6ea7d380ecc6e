/** UDP of a sandbox that is held to a policy: to what its owner has allowed by address, as its programs see it. */
import type { Test } from 'tap'
import { put, quoted, type Sandbox } from './held-sandboxes.ts'
import type { World } from './internet/world.ts'
import { shell } from './tunnel-net.ts'

const peer = '203.0.113.20'

/** Sends to each port from one socket, and says what comes back from there in so many seconds. */
const client = (asked: readonly (readonly [port: number, seconds: number])[]) => `
import socket
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port, seconds in ${JSON.stringify(asked)}:
    client.settimeout(seconds)
    try:
        client.sendto(b"to-%d" % port, ("${peer}", port))
        print(client.recvfrom(100), end=" ")
    except OSError as error:
        print(type(error).__name__, end=" ")
`

/** To where it may not go, as fast as it can. */
const flood = `
import socket
client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for count in range(120000): client.sendto(b"flood", ("${peer}", 9000))
`

/** Datagrams of held sandboxes that were too many. */
const dropped = ({ server }: World): number => {
  const rules = shell(`nsenter --net=/run/netns/box iptables -w 10 -vxnL ${server.names.chain}-IN`)
  return Number(/^\s*(\d+) .*limit: above 20000\/sec/m.exec(rules)?.[1])
}

/** `policy` is what the sandbox has, and allows `peer` at port 9100. */
export const datagramsSuite = async (
  t: Test,
  world: World,
  held: Sandbox,
  { policy, runtime }: { readonly policy: { readonly allowedDomains: readonly string[] }; readonly runtime: string },
): Promise<void> => {
  const { server, reached } = world
  const send = (...asked: Parameters<typeof client>[0]) => held.run(`python3 -c ${quoted(client(asked))}`)
  const back = `(b'to-9100', ('${peer}', 9100))`

  await t.test('UDP goes where its owner has allowed it by address', async t => {
    const elsewhere = 'TimeoutError TimeoutError'
    t.equal(await send([9100, 10], [9000, 0.5], [443, 0.5]), `${back} ${elsewhere}`, 'and nowhere else there')
    const { data } = (await server.call('GET', '/v0/sandboxes/held/egress/events?limit=1000')).body
    const told = data.filter(({ protocol }: { protocol: string }) => protocol === 'udp')
    t.match(told[0], { verdict: 'allowed', rule: `${peer}:9100`, host: peer, port: 9100 })
    t.match(told[1], { verdict: 'blocked', reason: 'not_allowed', host: peer, port: 9000 })
    world.log.entries.length = 0
    const without = policy.allowedDomains.filter(entry => !entry.startsWith(peer))
    t.equal((await put(world, held, { ...policy, allowedDomains: without })).status, 200)
    t.equal(await send([9100, 0.5]), 'TimeoutError', 'not allowed any more')
    t.same(reached('to-9100'), [])
    t.equal((await put(world, held, policy)).status, 200)
    if (runtime !== 'runc') return
    t.equal(await send([9100, 10]), back)
    await held.run(`python3 -c ${quoted(flood)}`)
    t.ok(dropped(world) > 10_000, 'the kernel drops what is more than the server is to hear of')
  })
}

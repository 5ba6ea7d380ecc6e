/** A tunnel of a sandbox that is held to a policy, to a real peer that its owner has allowed by address. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Test } from 'tap'
import { make, put } from './held-sandboxes.ts'
import type { World } from './internet/world.ts'
import { until } from './processes.ts'
import { makeKeys, shell, whyNoTunnels } from './tunnel-net.ts'

const peer = { host: '203.0.113.20', port: 51_821, inside: '10.9.0.1', sandbox: '10.9.0.2' } as const

const startPeer = async (t: Test, own: string): Promise<string> => {
  const keys = makeKeys()
  const child = spawn('wireguard-go', ['--foreground', 'peer0'], { stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  await until('the peer', () => existsSync('/run/wireguard/peer0.sock'))
  shell(
    `cat | wg set peer0 listen-port ${peer.port} private-key /dev/stdin peer ${own} allowed-ips ${peer.sandbox}/32
     ip addr add ${peer.inside}/24 dev peer0
     ip link set peer0 up`,
    keys.secret,
  )
  const far = createServer(socket => socket.end(`seen ${socket.remoteAddress}`)).listen(7_100, peer.inside)
  await once(far, 'listening')
  t.teardown(() => far.close())
  return keys.open
}

export const tunnelSuite = async (t: Test, world: World): Promise<void> => {
  const { server, reached } = world
  const why = whyNoTunnels()
  if (why) return void t.pass(`skipped: ${why}`, { skip: why })
  await t.test('a tunnel to a peer that is allowed by address', async t => {
    const own = makeKeys()
    const open = await startPeer(t, own.open)
    const policy = { allowedDomains: ['open.example', `${peer.host}:${peer.port}`] }
    const sandbox = await make(world, 'tunnelled', policy)
    const config = Buffer.from(
      JSON.stringify({
        local_ip: `${peer.sandbox}/32`,
        peer_endpoint: `${peer.host}:${peer.port}`,
        peer_public_key: open,
        private_key: own.secret,
        allowed_ips: ['10.9.0.0/24', '198.51.100.66/32'],
      }),
    ).toString('base64')
    const at = '/default/sandboxes/tunnelled/network/tunnel'
    const up = await server.call('PUT', `${at}/config`, { config })
    t.equal(up.status, 200, up.text)
    const through = (seconds: number) =>
      sandbox.run(`timeout ${seconds} nc ${peer.inside} 7100 </dev/null || echo nothing`)
    t.equal(await through(10), `seen ${peer.sandbox}`)
    const plain = 'curl -sS -m 5 -o /dev/null -w "%{http_code}" http://open.example/beside'
    t.equal(await sandbox.run(plain), '200', 'what is allowed besides goes on')
    t.match(await sandbox.run('curl -sS -m 5 -i http://evil.example/beside'), 'firewall_blocked')
    t.same(reached('evil.example'), [])
    const without = { allowedDomains: ['open.example'] }
    t.equal((await put(world, sandbox, without)).status, 200)
    t.match(await through(1), 'nothing', 'not allowed any more')
    const { data } = (await server.call('GET', '/v0/sandboxes/tunnelled/egress/events?limit=1000')).body
    t.match(
      data.find((one: { protocol?: string; verdict: string }) => one.protocol === 'udp' && one.verdict === 'blocked'),
      { reason: 'not_allowed', host: peer.host, port: peer.port },
    )
    t.equal((await server.call('PUT', `${at}/config`, { config })).status, 409)
    t.equal((await put(world, sandbox, policy)).status, 200)
    t.equal(await through(15), `seen ${peer.sandbox}`, 'and when it is again')
    t.equal((await server.call('DELETE', at)).status, 200)
    t.match(await through(1), 'nothing')
    await server.call('DELETE', '/v0/sandboxes/tunnelled')
  })
}

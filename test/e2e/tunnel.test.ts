/** A tunnel in a real machine of the oci driver, with the real bundle; its peer is in a namespace beside it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { bundle } from '../support/chroot.ts'
import { makeRootfs, whyNoMachines } from '../support/machine.ts'
import { openBox } from '../support/oci.ts'
import { until } from '../support/processes.ts'
import {
  buildInternet,
  endpoint,
  enterOwnNetwork,
  far,
  makeKeys,
  received,
  tunnelAddress,
  whyNoTunnels,
} from '../support/tunnel-net.ts'
import { skipFile } from '../support/skip-file.ts'

skipFile(whyNoMachines() ?? whyNoTunnels())
enterOwnNetwork()

const [own, peer] = [makeKeys(), makeKeys()]
const document = Buffer.from(
  JSON.stringify({
    local_ip: `${tunnelAddress}/32`,
    peer_endpoint: `${endpoint.host}:${endpoint.port}`,
    peer_public_key: peer.open,
    private_key: own.secret,
    route_all: true,
  }),
).toString('base64')

/** Processes of the box that run wireguard-go of a bundle: those inside machines. */
const inMachines = (): string[] =>
  readdirSync('/proc').filter(pid => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('/.hutch/bin/wireguard-go')
    } catch {
      // Not a process, or one that has just ended.
      return false
    }
  })

t.test('a sandbox whose traffic goes through a tunnel or nowhere', async t => {
  const dir = mkdtempSync(join(tmpdir(), 'hutch-tunnel-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true }))
  const internet = await buildInternet(peer, own.open)
  t.teardown(internet.close)
  const kit = { rootfs: makeRootfs(join(dir, 'rootfs')), bundleDir: bundle() }
  const box = await openBox(t, kit, { settings: { slotsAhead: 0 } })

  const open = async (id: string, env: Record<string, string> = {}) => {
    const { address } = await box.driver.create(box.spec(id, { env }))
    const { host, port } = address as { host: string; port: number }
    const api = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`http://${host}:${port}${path}`, {
        method,
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        headers: { connection: 'close' },
        signal: AbortSignal.timeout(90_000),
      })
      // oxlint-disable-next-line typescript/no-explicit-any
      return { status: response.status, body: (await response.json()) as any }
    }
    const run = async (command: string): Promise<string> =>
      (await api('POST', '/process', { command, waitForCompletion: true })).body.logs.trim()
    return {
      api,
      run,
      seenFrom: () => run(`nc -w 20 ${far.v4} ${far.port}`),
      closed: async (when: string) => {
        // A packet that was on its way into the tunnel as that went is lost, and its connection times out.
        t.match(await run(`nc -w 5 ${far.v4} ${far.port}`), /can't connect|timed out/, `${when}: nothing gets out`)
        t.equal((await api('GET', '/health')).status, 200, `${when}: who comes in is answered`)
      },
      put: () => api('PUT', '/network/tunnel/config', { config: document }),
      disconnect: () => api('DELETE', '/network/tunnel'),
    }
  }

  const sandbox = await open('a')
  t.equal(await sandbox.seenFrom(), '192.0.2.1', 'untouched: under the address of the box')
  t.match(await sandbox.disconnect(), { status: 400, body: { error: /no WireGuard client is running/ } })
  const before = received()
  t.match(await sandbox.put(), { status: 200, body: { path: '', message: /updated/ } })
  t.equal(await sandbox.seenFrom(), tunnelAddress, 'the far end sees the address of the tunnel')
  t.ok(received() > before, 'and the peer has counted what came')
  t.match(await sandbox.disconnect(), { status: 200, body: { path: '', message: /disconnected/ } })
  await sandbox.closed('disconnected')
  t.match(await sandbox.disconnect(), { status: 400 })
  t.match(await sandbox.put(), { status: 200 })
  t.equal(await sandbox.seenFrom(), tunnelAddress, 'connected again')

  const pid = await sandbox.run('/bin/busybox pidof wireguard-go')
  t.match(pid, /^\d+$/)
  t.match(await sandbox.run(`cat /proc/${pid}/environ /proc/1/environ 2>&1`), /denied[^]*denied/)
  t.match(await sandbox.run(`head -c 1 /proc/${pid}/mem 2>&1`), /denied/)
  t.notMatch(await sandbox.run(`cat /proc/${pid}/cmdline; /.hutch/bin/wg show wg0 private-key 2>&1`), own.secret)
  t.equal(await sandbox.run('/bin/busybox find /var/run/wireguard -type s'), '', 'there is no control socket')
  for (const line of ['/.hutch/bin/iptables -F', 'ip link set wg0 down', 'ip route add 198.18.0.0/15 dev eth0'])
    t.match(await sandbox.run(`${line} 2>&1`), /denied|not permitted|initialize/i, line)
  t.match(await sandbox.run('/bin/busybox arping -c 1 -I eth0 192.0.2.9 2>&1'), /not permitted/, 'no raw frames')
  t.match(await sandbox.run(`kill -9 ${pid}; echo done`), 'done')
  await until('the process to be gone', () => inMachines().length === 0)
  await sandbox.closed('killed')
  t.match(await sandbox.put(), { status: 200 }, 'and it can be brought up once more')
  t.equal(await sandbox.seenFrom(), tunnelAddress)
  await box.driver.remove('a')

  const born = await open('b', { SVC_NETWORKING_CONFIG: document })
  t.equal(await born.seenFrom(), tunnelAddress, 'the document of the environment is in force at once')
  t.notMatch(await born.run('env'), /NETWORKING_CONFIG/, 'and no tenant inherits it')
})

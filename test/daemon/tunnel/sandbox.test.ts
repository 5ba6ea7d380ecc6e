/** A daemon in a network namespace of its own, a real WireGuard peer in another. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { request as requestOver } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import {
  buildInternet,
  buildSandboxNetwork,
  endpoint,
  enterOwnNetwork,
  far,
  makeKeys,
  received,
  shell,
  tunnelAddress,
  whyNoTunnels,
} from '../../support/tunnel-net.ts'
import { generousMs, until } from '../../support/processes.ts'
import { skipFile } from '../../support/skip-file.ts'
import '../../support/native.ts'

skipFile(whyNoTunnels())
enterOwnNetwork()

const main = resolve(import.meta.dirname, '../../../daemon/main.ts')
const [own, peer] = [makeKeys(), makeKeys()]
buildSandboxNetwork()
const internet = await buildInternet(peer, own.open)
const root = mkdtempSync(join(tmpdir(), 'hutch-tunnel-'))
t.teardown(() => {
  internet.close()
  rmSync(root, { recursive: true, force: true })
})

const document = (more: object = {}): string =>
  Buffer.from(
    JSON.stringify({
      local_ip: `${tunnelAddress}/32`,
      peer_endpoint: `${endpoint.host}:${endpoint.port}`,
      peer_public_key: peer.open,
      private_key: own.secret,
      route_all: true,
      ...more,
    }),
  ).toString('base64')

interface Sandbox {
  readonly child: ChildProcess
  readonly log: string[]
  api(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: { error?: string; message?: string } }>
  /** Runs a shell line as the tenant. */
  run(line: string): Promise<string>
  stop(signal: NodeJS.Signals): Promise<void>
}

/** Inbound, from an address that is reached through the default route only. */
const ask = (port: number, method: string, path: string, body?: unknown) =>
  new Promise<{ status: number; text: string }>((done, failed) => {
    const request = requestOver(
      { host: '10.77.1.2', port, path, method, localAddress: '198.51.100.7', agent: false, timeout: generousMs },
      response => void text(response).then(all => done({ status: response.statusCode ?? 0, text: all }), failed),
    )
    request.on('error', failed).on('timeout', () => request.destroy(new Error(`${method} ${path}: no answer`)))
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })

let made = 0
const start = async (t: Test, env: Record<string, string> = {}, dir = join(root, String(++made))): Promise<Sandbox> => {
  for (const name of ['state', 'logs', 'work']) mkdirSync(join(dir, name), { recursive: true })
  const child = spawn('ip', ['netns', 'exec', 'sandbox', process.execPath, main, '-p', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: dir,
      WORKDIR: join(dir, 'work'),
      SANDBOX_LOG_DIR: join(dir, 'logs'),
      SANDBOX_STATE_FILE: join(dir, 'state/processes.json'),
      SANDBOX_PROXY_STATE_FILE: join(dir, 'state/proxy.json'),
      SVC_METADATA_PATH: join(dir, 'state/metadata'),
      SVC_SCALE_FILE: join(dir, 'none/scale'),
      HUTCH_STATE_DIR: join(dir, 'state/private'),
      HUTCH_UPGRADE_DIR: join(dir, 'state/upgrade'),
      ...env,
    },
  })
  const log: string[] = []
  const stop = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    await once(child, 'exit')
  }
  t.teardown(() => stop('SIGKILL'))
  createInterface({ input: child.stderr }).on('line', line => log.push(line))
  const port = await until('the daemon', () => {
    if (child.exitCode !== null) throw new Error(log.join('\n'))
    return Number(/"daemon\.listening".*"port":(\d+)/.exec(log.join('\n'))?.[1]) || undefined
  })
  const api: Sandbox['api'] = async (method, path, body) => {
    const answer = await ask(port, method, path, body)
    return { status: answer.status, body: JSON.parse(answer.text) }
  }
  return {
    child,
    log,
    api,
    stop,
    async run(command) {
      const { body } = await api('POST', '/process', { command, waitForCompletion: true })
      return (body as { logs?: string }).logs?.trim() ?? ''
    },
  }
}

/** Where a connection of the tenant's is seen to come from, or the code of its failure. */
const seenFrom = ({ run }: Sandbox, host: string = far.v4): Promise<string> =>
  run(
    `${process.execPath} -e "const s = require('net').connect(${far.port}, '${host}'); s.on('data', d => console.log(String(d))).on('error', e => console.log(e.code))"`,
  )
const put = (sandbox: Sandbox, more?: object) =>
  sandbox.api('PUT', '/network/tunnel/config', { config: document(more) })
const up = { status: 200, body: { path: '', message: /updated/ } }
const disconnect = (sandbox: Sandbox) => sandbox.api('DELETE', '/network/tunnel')
const inbound = async (sandbox: Sandbox) => (await sandbox.api('GET', '/health')).status
const nothing = /^(EHOSTUNREACH|ENETUNREACH|EACCES|EPERM|ECONNREFUSED)$/
const closed = async (t: Test, sandbox: Sandbox, when: string) => {
  t.match(await seenFrom(sandbox), nothing, `${when}: nothing gets out`)
  t.match(await seenFrom(sandbox, far.v6), nothing, `${when}: nor by IPv6`)
  t.equal(await inbound(sandbox), 200, `${when}: who comes in is answered`)
}
/** The namespace as it was: a daemon never opens what it closed. */
const reset = () =>
  shell(`
    ip netns exec sandbox iptables -F; ip netns exec sandbox iptables -X
    ip netns exec sandbox ip6tables -F; ip netns exec sandbox ip6tables -X
    ip netns exec sandbox ip route replace default via 10.77.1.1`)
const interfaces = () =>
  shell('ip -n sandbox -o link show')
    .match(/^\d+: [^:@]+/gm)
    ?.map(line => line.split(' ')[1])
const routes = () =>
  shell('ip -n sandbox route show')
    .split('\n')
    .map(line => line.trim())
    .filter(Boolean)
    .sort()
/** The wireguard-go of the sandbox. */
const processes = () =>
  readdirSync('/proc').filter(pid => {
    try {
      return /wireguard-go\0--foreground\0wg/.test(readFileSync(`/proc/${pid}/cmdline`, 'latin1'))
    } catch {
      // Not a process, or one that has just ended.
      return false
    }
  })

t.test('up, down, up again: everything goes through the tunnel or nowhere', async t => {
  t.teardown(reset)
  const sandbox = await start(t)
  const before = routes()
  t.equal(await seenFrom(sandbox), '10.77.1.2', 'untouched')
  t.equal(await seenFrom(sandbox, far.v6), 'fd77:1::2')
  t.match(await disconnect(sandbox), { status: 400, body: { error: /no WireGuard client is running/ } })
  t.equal(await seenFrom(sandbox), '10.77.1.2', 'a refused call changes nothing')

  for (const round of ['first', 'second']) {
    const bytes = received()
    t.match(await put(sandbox), { status: 200, body: { path: '', message: /updated/ } }, round)
    t.equal(await seenFrom(sandbox), tunnelAddress, 'the far end sees the address of the tunnel')
    t.ok(received() > bytes, 'and the peer has counted what came')
    t.match(await seenFrom(sandbox, far.v6), nothing, 'IPv6 does not go beside the tunnel')
    t.equal(await inbound(sandbox), 200, 'answers keep their way')
    t.match(await disconnect(sandbox), { status: 200, body: { path: '', message: /disconnected/ } })
    await closed(t, sandbox, round)
    t.same(routes(), before, 'the routes are as they were')
    t.same(interfaces(), ['lo', 'eth0'])
    t.match(await disconnect(sandbox), { status: 400, body: { error: /no WireGuard client is running/ } })
  }
  await sandbox.stop('SIGTERM')
})

t.test('an invalid document leaves the tunnel, a valid one replaces it, one that fails leaves none', async t => {
  t.teardown(reset)
  const sandbox = await start(t)
  await put(sandbox)
  const [first] = processes()
  t.match(await put(sandbox, { mtu: 1 }), { status: 422, body: { error: /invalid tunnel config: mtu/ } })
  t.same(processes(), [first])
  t.equal(await seenFrom(sandbox), tunnelAddress)
  t.match(await put(sandbox, { interface_name: 'wg7', mtu: 1_300, listen_port: 51_900 }), up)
  t.same(interfaces(), ['lo', 'eth0', 'wg7'])
  t.match(shell('ip -n sandbox link show wg7'), /mtu 1300/)
  t.equal(await seenFrom(sandbox), tunnelAddress)

  const program = `require('dgram').createSocket('udp4').bind(51999, () => console.log('ready'))`
  const blocker = spawn('ip', ['netns', 'exec', 'sandbox', process.execPath, '-e', program])
  t.teardown(() => blocker.kill('SIGKILL'))
  await once(blocker.stdout, 'data')
  const failed = /failed to apply tunnel config: .*51999.*nothing leaves the sandbox/
  t.match(await put(sandbox, { listen_port: 51_999 }), { status: 500, body: { error: failed } })
  await closed(t, sandbox, 'half-way')
  t.same(processes(), [], 'no process is left')
  t.same(interfaces(), ['lo', 'eth0'])
  t.match(await disconnect(sandbox), { status: 400 })
  t.match(await put(sandbox, { interface_name: 'eth0' }), { status: 500, body: { error: /an interface eth0 already/ } })
  t.match(await put(sandbox), up)
  t.equal(await seenFrom(sandbox), tunnelAddress, 'and it can be mended')
  await sandbox.stop('SIGTERM')
})

t.test('the end of wireguard-go closes the sandbox', async t => {
  t.teardown(reset)
  const sandbox = await start(t)
  await put(sandbox)
  t.equal(await seenFrom(sandbox), tunnelAddress)
  const [pid] = processes()
  await sandbox.run(`kill -9 ${pid}`)
  await until('the daemon to notice', () => sandbox.log.some(line => line.includes('tunnel.ended')))
  await closed(t, sandbox, 'killed')
  t.match(await disconnect(sandbox), { status: 400 })
  t.match(await put(sandbox), up)
  t.equal(await seenFrom(sandbox), tunnelAddress)
  await sandbox.stop('SIGTERM')
})

t.test('tenants, root as they are, cannot get at the key or around the tunnel', async t => {
  t.teardown(reset)
  const sandbox = await start(t, { SVC_NETWORKING_CONFIG: document() })
  t.equal(await seenFrom(sandbox), tunnelAddress, 'the document of the environment is in force at once')
  const [pid] = processes()
  t.equal(await sandbox.run('env | grep -c NETWORKING_CONFIG'), '0', 'tenants do not inherit it')
  t.match(await sandbox.run(`cat /proc/${pid}/environ /proc/${pid}/mem 2>&1`), /Permission denied/)
  t.match(await sandbox.run(`readlink -v /proc/${pid}/fd/3 2>&1`), /Permission denied/)
  t.notMatch(await sandbox.run(`cat /proc/${pid}/cmdline`), own.secret)
  t.equal(await sandbox.run('find /run/wireguard -type s ! -name "peer0*"'), '', 'there is no control socket')
  t.notMatch(await sandbox.run('wg show wg0 private-key 2>&1'), own.secret)
  t.match(
    await sandbox.run(`prlimit --pid ${pid} --nofile=100:100 2>&1`),
    /not permitted/,
    'what the process lost is lost',
  )
  for (const line of ['iptables -F', 'ip route add default via 10.77.1.1', 'ip link del wg0'])
    t.match(await sandbox.run(`${line} 2>&1`), /not permitted|denied/i, line)
  const bound = `require('net').connect({ host: '${far.v4}', port: ${far.port}, localAddress: '10.77.1.2' })`
  t.match(
    await sandbox.run(
      `${process.execPath} -e "${bound}.on('data', d => console.log(String(d))).on('error', e => console.log(e.code))"`,
    ),
    nothing,
    'the sandbox address as the source is no way round',
  )
  shell('ip -n sandbox route add default via 10.77.1.1 metric 5')
  await until('the route to be removed', () => !shell('ip -n sandbox route show').includes('default via'))
  t.equal(await seenFrom(sandbox), tunnelAddress)
  await sandbox.stop('SIGTERM')
  t.same(processes(), [], 'the tunnel ends with the daemon')
  const next = await start(t)
  await closed(t, next, 'after the daemon')
  await next.stop('SIGTERM')
})

t.test('a daemon that starts again clears what one left that was killed, and stays closed', async t => {
  t.teardown(reset)
  const dir = join(root, 'again')
  const first = await start(t, {}, dir)
  await put(first)
  await first.stop('SIGKILL')
  const second = await start(t, {}, dir)
  await until('the old process to end', () => processes().length === 0)
  await closed(t, second, 'started again')
  t.same(interfaces(), ['lo', 'eth0'])
  t.match(await disconnect(second), { status: 400 })
  t.match(await put(second), up)
  t.equal(await seenFrom(second), tunnelAddress)
  await second.stop('SIGTERM')
  reset()
  const third = await start(t, {}, dir)
  await closed(t, third, 'a network that is new')
  await third.stop('SIGTERM')
})

t.test('without route_all only what is allowed goes through', async t => {
  t.teardown(reset)
  const sandbox = await start(t)
  t.match(await put(sandbox, { route_all: false }), up)
  t.equal(await seenFrom(sandbox), '10.77.1.2', 'a default among the allowed is not followed')
  t.match(await put(sandbox, { route_all: false, allowed_ips: ['203.0.113.0/24', 'fd00:5::/32'] }), up)
  t.equal(await seenFrom(sandbox), tunnelAddress)
  t.equal(await seenFrom(sandbox, far.v6), 'fd77:1::2', 'the rest goes its way')
  t.match(await seenFrom(sandbox, endpoint.host), '10.77.1.2')
  await disconnect(sandbox)
  await closed(t, sandbox, 'disconnected')
  await sandbox.stop('SIGTERM')
})

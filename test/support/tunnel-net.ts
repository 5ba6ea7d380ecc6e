/**
 * A small internet for tunnel tests, in namespaces that end with the test's process:
 *
 *     sandbox  10.77.1.2, fd77:1::2 ── router (the test itself, also 198.51.100.7) ── peer  192.0.2.2, 203.0.113.9, fd77:9::9
 *
 * 203.0.113.9 and fd77:9::9 are reached from the sandbox both directly and through a WireGuard peer, and a server there
 * answers with the address it was asked from: that tells which way was taken.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { once } from 'node:events'
import { generousMs, until } from './processes.ts'

const inside = 'HUTCH_TEST_OWN_NETWORK'

/** Why no tunnel can be made on this machine, or undefined. */
export const whyNoTunnels = (): string | undefined => {
  if (process.getuid?.() !== 0) return 'needs root'
  if (!existsSync('/dev/net/tun')) return 'needs /dev/net/tun'
  for (const tool of ['wireguard-go', 'wg', 'ip', 'iptables', 'unshare'])
    if (spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0) return `needs ${tool}`
  const made = spawnSync('unshare', [
    '--net',
    '--mount',
    'sh',
    '-c',
    'iptables -A OUTPUT -m conntrack --ctstate NEW -m connmark --mark 1',
  ])
  return made.status === 0 ? undefined : 'needs network namespaces with iptables, conntrack and connmark'
}

/** Runs this test file again in network and mount namespaces of its own. Comes back only there. */
export const enterOwnNetwork = (): void => {
  if (process.env[inside]) return
  const script = 'mount -t tmpfs none /run && mkdir -p /run/netns && ip link set lo up && "$@"; exit $?'
  // The shell stays PID 1, so that this is the network of a machine. A pid namespace too:
  // whatever is left in it ends with the test, and the test with whoever runs it.
  const command = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', '-c', script, 'sh']
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  const { status } = spawnSync('setpriv', ['--pdeathsig', 'KILL', 'unshare', ...command, ...again], {
    stdio: 'inherit',
    env: { ...process.env, [inside]: '1' },
  })
  process.exit(status ?? 1)
}

export const shell = (script: string, input = ''): string =>
  execFileSync('sh', ['-euc', script], { encoding: 'utf8', input, timeout: generousMs })

export interface Keys {
  readonly secret: string
  readonly open: string
}

export const makeKeys = (): Keys => {
  const secret = shell('wg genkey').trim()
  return { secret, open: shell('wg pubkey', secret).trim() }
}

/** A namespace of that name beside the router, which has the first address of both networks. */
const link = (name: string, v4: string, v6: string): string => `
  ip netns add ${name}
  ip link add v-${name} type veth peer name eth0 netns ${name}
  ip addr add ${v4}.1/24 dev v-${name}
  ip addr add ${v6}::1/64 dev v-${name} nodad
  ip link set v-${name} up
  ip -n ${name} link set lo up
  ip -n ${name} addr add ${v4}.2/24 dev eth0
  ip -n ${name} addr add ${v6}::2/64 dev eth0 nodad
  ip -n ${name} link set eth0 up
  ip -n ${name} route add default via ${v4}.1
  ip -n ${name} -6 route add default via ${v6}::1
`

export const buildSandboxNetwork = (): string => shell(link('sandbox', '10.77.1', 'fd77:1'))

export const far = { v4: '203.0.113.9', v6: 'fd77:9::9', port: 7000 } as const
export const tunnelAddress = '10.9.0.2'
export const endpoint = { host: '192.0.2.2', port: 51_821 } as const

/** Answers every connection with the address it came from. */
const echo = `require('node:net').createServer(s => { s.on('error', () => {}); s.end(s.remoteAddress.replace('::ffff:', '')) })
  .listen(${far.port}, '::', () => console.log('ready'))`

/** Builds all but the sandbox; `sandbox` is the public key it lets in. */
export const buildInternet = async (peer: Keys, sandbox: string): Promise<{ close: () => void }> => {
  shell(`
    sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
    ip addr add 198.51.100.7/32 dev lo
    ${link('peer', '192.0.2', 'fd77:2')}
    ip route add ${far.v4} via 192.0.2.2
    ip -6 route add ${far.v6} via fd77:2::2
    ip -n peer addr add ${far.v4}/32 dev lo
    ip -n peer addr add ${far.v6}/128 dev lo nodad
  `)
  const children: ChildProcess[] = []
  const inPeer = (...command: string[]) => {
    const child = spawn('ip', ['netns', 'exec', 'peer', ...command], { stdio: ['ignore', 'pipe', 'ignore'] })
    children.push(child)
    return child
  }
  const close = () => {
    for (const child of children) child.kill('SIGKILL')
  }
  inPeer('wireguard-go', '--foreground', 'peer0')
  await until('the peer', () => existsSync('/run/wireguard/peer0.sock'))
  shell(
    // Through a pipe: wg opens its input by name, which the socket that Node gives does not allow.
    `cat | ip netns exec peer wg set peer0 listen-port ${endpoint.port} private-key /dev/stdin peer ${sandbox} allowed-ips ${tunnelAddress}/32
     ip -n peer addr add 10.9.0.1/24 dev peer0
     ip -n peer link set peer0 up`,
    peer.secret,
  )
  await once(createInterface({ input: inPeer(process.execPath, '-e', echo).stdout as NodeJS.ReadableStream }), 'line')
  return { close }
}

/** Bytes that the peer got through the tunnel. */
export const received = (): number => Number(shell('ip netns exec peer wg show peer0 transfer').split('\t')[1])

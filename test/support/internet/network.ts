/**
 * A small internet in a network namespace of the test's own. All its addresses are on the loopback device, and what a sandbox sends is
 * told by its source address, as the host's fence tells it by the slot:
 *
 *     10.88.0.2, 10.88.0.3   two sandboxes; TCP, UDP and DNS they send elsewhere than to the engine are redirected to it
 *     10.88.0.1              the engine
 *     203.0.113.10           a CDN: many names, one address        203.0.113.20   a server with one name
 *     198.51.100.66          the attacker's server                 192.0.2.53     DNS
 *     192.0.2.1, 127.0.0.1   the host's own services               169.254.169.254, 10.0.0.5, 100.64.0.9   closed ones
 */
import { spawnSync } from 'node:child_process'
import { shell } from '../tunnel-net.ts'

export const addresses = {
  sandbox: '10.88.0.2',
  neighbour: '10.88.0.3',
  engine: '10.88.0.1',
  cdn: '203.0.113.10',
  single: '203.0.113.20',
  attacker: '198.51.100.66',
  dns: '192.0.2.53',
  host: '192.0.2.1',
  metadata: '169.254.169.254',
  private: '10.0.0.5',
  shared: '100.64.0.9',
} as const

/** Why there can be no such network on this machine, or undefined. */
export const whyNoInternet = (): string | undefined => {
  if (process.getuid?.() !== 0) return 'needs root'
  for (const tool of ['ip', 'iptables', 'unshare'])
    if (spawnSync('sh', ['-c', `command -v ${tool}`]).status !== 0) return `needs ${tool}`
  const made = spawnSync('unshare', [
    '--net',
    'iptables',
    '-t',
    'nat',
    '-A',
    'OUTPUT',
    '-p',
    'tcp',
    '-j',
    'REDIRECT',
    '--to-ports',
    '1',
  ])
  return made.status === 0 ? undefined : 'needs network namespaces with iptables and NAT'
}

export const buildNetwork = (): void => {
  shell(
    Object.values(addresses)
      .map(address => `ip addr add ${address}/32 dev lo`)
      .join('\n'),
  )
}

/** What sandboxes send to anywhere but the engine ends in the engine. */
export const redirect = (ports: { transparent: number; dns: number; datagrams: number }): void => {
  const { sandbox, neighbour, engine } = addresses
  shell(
    [sandbox, neighbour]
      .flatMap(source => [
        `iptables -t nat -A OUTPUT -s ${source} ! -d ${engine} -p tcp --dport 53 -j DNAT --to-destination ${engine}:${ports.dns}`,
        `iptables -t nat -A OUTPUT -s ${source} ! -d ${engine} -p udp --dport 53 -j DNAT --to-destination ${engine}:${ports.dns}`,
        `iptables -t nat -A OUTPUT -s ${source} ! -d ${engine} -p tcp -j DNAT --to-destination ${engine}:${ports.transparent}`,
        `iptables -t nat -A OUTPUT -s ${source} ! -d ${engine} -p udp ! --dport 443 -j DNAT --to-destination ${engine}:${ports.datagrams}`,
        `iptables -A OUTPUT -s ${source} ! -d ${engine} -p udp ! --dport ${ports.dns} -m conntrack --ctstate NEW -j DROP`,
      ])
      .join('\n'),
  )
}

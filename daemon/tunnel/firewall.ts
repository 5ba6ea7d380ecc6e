/**
 * What may leave the sandbox, in chains of our own at the head of INPUT and OUTPUT. The kernel keeps the rules whatever
 * happens to the tunnel's process or to the daemon; changing them takes CAP_NET_ADMIN, which tenants lack.
 *
 *     INPUT    the first packet of an incoming TCP connection               → marks the connection
 *     OUTPUT   loopback                                                     → pass
 *              answers on marked connections, answers to pings              → pass, on every route
 *              the tunnel's own packets, from its port to its peer          → pass
 *              traffic into the tunnel                                      → pass
 *              the rest, or without route_all the rest to `only`            → refuse
 *
 * The state of a connection alone is not enough to recognise it: one that is older than these rules counts as new,
 * whichever side sends the next packet. Connections that came in before are let through by their addresses.
 */
import { errno, messageOf } from '../../shared/errors.ts'
import { access } from 'node:fs/promises'
import { networkText, type Family, type Network } from './address.ts'
import type { Tool, Tools } from './tools.ts'

/** A TCP connection that came in before the firewall was first set. */
export interface InboundConnection {
  readonly family: Family
  readonly port: number
  readonly remote: string
  readonly remotePort: number
}

/** The traffic that passes besides answers. */
export interface AllowedTraffic {
  readonly interface: string
  readonly peer: { readonly family: Family; readonly address: string; readonly port: number }
  readonly listenPort: number
  /** Outside of the tunnel only these networks are refused; undefined refuses everything. */
  readonly only: readonly Network[] | undefined
}

type FirewallState =
  | { readonly kind: 'none' }
  | { readonly kind: 'closed' }
  | { readonly kind: 'open'; interface: string }

export interface Firewall {
  /**
   * Sets the rules in one step; without `allowed` only answers pass. On failure it throws and the rules are unchanged.
   */
  apply(allowed: AllowedTraffic | undefined, inbound: readonly InboundConnection[]): Promise<void>
  /** What the kernel has. */
  inspect(): Promise<FirewallState>
}

const [incoming, outgoing] = ['HUTCH-TUNNEL-IN', 'HUTCH-TUNNEL'] as const
/** Set on connections that came in. */
const mark = '0x40000000/0x40000000'

/** Rejects the rest, so that programs fail at once instead of waiting; drops it where the kernel has no REJECT. */
const refusals = {
  4: [['-j REJECT --reject-with icmp-admin-prohibited'], ['-j DROP']],
  6: [
    // TCP treats the ICMPv6 message as a transient failure and retries; a reset ends the connection.
    ['-p tcp -j REJECT --reject-with tcp-reset', '-j REJECT --reject-with icmp6-adm-prohibited'],
    ['-j DROP'],
  ],
} as const
const icmpAnswers = {
  4: ['-p icmp -m conntrack --ctstate ESTABLISHED,RELATED --ctdir REPLY'],
  6: [
    '-p ipv6-icmp -m conntrack --ctstate ESTABLISHED,RELATED --ctdir REPLY',
    // Router and neighbour discovery: without it nothing reaches the sandbox.
    ...[133, 135, 136].map(type => `-p ipv6-icmp -m icmp6 --icmpv6-type ${type}`),
  ],
} as const

const allowedRules = (family: Family, allowed: AllowedTraffic | undefined): string[] => {
  if (!allowed) return []
  const { address, port } = allowed.peer
  const own = `-d ${address} -p udp --sport ${allowed.listenPort} --dport ${port}`
  return [...(allowed.peer.family === family ? [own] : []), `-o ${allowed.interface}`]
}

/** The filter table of one family for iptables-restore; `hooked` says that the jumps to our chains exist already. */
const firewallRules = (
  family: Family,
  {
    allowed,
    inbound,
    refuse,
    hooked,
  }: {
    allowed: AllowedTraffic | undefined
    inbound: readonly InboundConnection[]
    refuse: readonly string[]
    hooked: boolean
  },
): string => {
  const passes = [
    '-o lo',
    `-p tcp -m conntrack --ctstate ESTABLISHED,RELATED --ctdir REPLY -m connmark --mark ${mark}`,
    ...icmpAnswers[family],
    ...inbound
      .filter(one => one.family === family)
      .map(({ port, remote, remotePort }) => `-d ${remote} -p tcp --sport ${port} --dport ${remotePort}`),
    ...allowedRules(family, allowed),
  ]
  const only = allowed?.only?.filter(network => network.family === family).map(network => `-d ${networkText(network)} `)
  return [
    '*filter',
    // Declaring a chain here empties it, in the same transaction that fills it again.
    `:${incoming} - [0:0]`,
    `:${outgoing} - [0:0]`,
    ...(hooked ? [] : [`-I INPUT 1 -j ${incoming}`, `-I OUTPUT 1 -j ${outgoing}`]),
    `-A ${incoming} ! -i lo -p tcp --syn -m conntrack --ctstate NEW -j CONNMARK --set-xmark ${mark}`,
    ...passes.map(match => `-A ${outgoing} ${match} -j RETURN`),
    ...(only ?? ['']).flatMap(destination => refuse.map(rule => `-A ${outgoing} ${destination}${rule}`)),
    'COMMIT',
    '',
  ].join('\n')
}

const hasIpv6 = async (): Promise<boolean> => {
  try {
    await access('/proc/net/if_inet6')
    return true
  } catch (error) {
    if (errno(error) === 'ENOENT') return false
    throw error
  }
}

export const createFirewall = (tools: Tools): Firewall => {
  let backend: Tool | undefined
  const program = (family: Family, verb: string) => `${family === 4 ? 'iptables' : 'ip6tables'}-${verb}`

  /** The rules of a family, read with the first backend that works on this kernel. */
  const saved = async (family: Family): Promise<string> => {
    const failures: string[] = []
    for (const tool of backend ? [backend] : (['xtables-nft-multi', 'xtables-legacy-multi'] as const))
      try {
        const text = await tools.run(tool, [program(family, 'save'), '-t', 'filter'])
        backend = tool
        return text
      } catch (error) {
        failures.push(messageOf(error))
      }
    throw new Error(`the firewall cannot be used: ${failures.join('; ')}`)
  }

  const applyOne = async (
    family: Family,
    allowed: AllowedTraffic | undefined,
    inbound: readonly InboundConnection[],
  ): Promise<void> => {
    const lines = (await saved(family)).split('\n')
    const hooked = lines.includes(`-A OUTPUT -j ${outgoing}`) && lines.includes(`-A INPUT -j ${incoming}`)
    const failures: string[] = []
    for (const refuse of refusals[family])
      try {
        const rules = firewallRules(family, { allowed, inbound, refuse, hooked })
        await tools.run(backend as Tool, [program(family, 'restore'), '--noflush'], rules)
        return
      } catch (error) {
        failures.push(messageOf(error))
      }
    throw new Error(`the firewall cannot be set: ${failures.at(-1)}`)
  }

  return {
    async apply(allowed, inbound) {
      if (await hasIpv6()) await applyOne(6, allowed, inbound)
      await applyOne(4, allowed, inbound)
    },
    async inspect() {
      const lines = (await saved(4)).split('\n').filter(line => line.startsWith(`-A ${outgoing} `))
      if (lines.length === 0) return { kind: 'none' }
      const found = lines.map(line => / -o (\S+) -j RETURN$/.exec(line)?.[1]).find(name => name && name !== 'lo')
      return found ? { kind: 'open', interface: found } : { kind: 'closed' }
    },
  }
}

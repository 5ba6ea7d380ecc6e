/**
 * The fence: what may leave the sandbox, in chains of our own at the head of INPUT and OUTPUT. The kernel keeps it
 * whatever becomes of the tunnel's process or of the daemon, and only CAP_NET_ADMIN, which tenants lack, changes it.
 *
 *     INPUT    the first packet of a TCP connection that comes in marks the connection
 *     OUTPUT   loopback                                                     → passes
 *              answers on connections so marked, answers to pings           → pass, on whatever way they go
 *              the tunnel's own packets, from its port to its peer          → pass
 *              what goes into the tunnel                                    → passes
 *              the rest, or without route_all the rest to `allowed`         → refused
 *
 * Connections are told by a mark and not by their state alone, because one that is older than the fence is taken for
 * new by whichever side speaks first. Those that had come in before are let through by their addresses.
 */
import { errno, messageOf } from '../../shared/errors.ts'
import { access } from 'node:fs/promises'
import { networkText, type Family, type Network } from './address.ts'
import type { Tool, Tools } from './tools.ts'

/** A TCP connection that had come in before the fence was first up. */
export interface Older {
  readonly family: Family
  readonly port: number
  readonly remote: string
  readonly remotePort: number
}

/** What passes besides answers; undefined lets nothing pass. */
export interface Gap {
  readonly interface: string
  readonly peer: { readonly family: Family; readonly address: string; readonly port: number }
  readonly listenPort: number
  /** Only these networks are refused outside of the tunnel; undefined refuses everything. */
  readonly only: readonly Network[] | undefined
}

export type Stands =
  | { readonly kind: 'none' }
  | { readonly kind: 'closed' }
  | { readonly kind: 'open'; interface: string }

export interface Fence {
  /** Puts the fence up, or changes it in one step. Throws when it cannot; then it is as it was. */
  raise(gap: Gap | undefined, older: readonly Older[]): Promise<void>
  /** What the kernel has. */
  look(): Promise<Stands>
}

const [incoming, outgoing] = ['HUTCH-TUNNEL-IN', 'HUTCH-TUNNEL'] as const
/** Set on connections that came in. */
const mark = '0x40000000/0x40000000'

/** How the rest is refused, so that programs fail at once and do not wait; the second where the kernel lacks the first. */
const refusals = {
  4: [['-j REJECT --reject-with icmp-admin-prohibited'], ['-j DROP']],
  6: [
    // A connection takes the ICMPv6 message for a passing trouble, a reset not.
    ['-p tcp -j REJECT --reject-with tcp-reset', '-j REJECT --reject-with icmp6-adm-prohibited'],
    ['-j DROP'],
  ],
} as const
const icmpAnswers = {
  4: ['-p icmp -m conntrack --ctstate ESTABLISHED,RELATED --ctdir REPLY'],
  6: [
    '-p ipv6-icmp -m conntrack --ctstate ESTABLISHED,RELATED --ctdir REPLY',
    // Router and neighbour discovery, without which nobody reaches us.
    ...[133, 135, 136].map(type => `-p ipv6-icmp -m icmp6 --icmpv6-type ${type}`),
  ],
} as const

const gapRules = (family: Family, gap: Gap | undefined): string[] => {
  if (!gap) return []
  const { address, port } = gap.peer
  const own = `-d ${address} -p udp --sport ${gap.listenPort} --dport ${port}`
  return [...(gap.peer.family === family ? [own] : []), `-o ${gap.interface}`]
}

/** The filter table of one family as iptables-restore reads it; `hooked` when the jumps are there already. */
const fenceRules = (
  family: Family,
  {
    gap,
    older,
    refuse,
    hooked,
  }: { gap: Gap | undefined; older: readonly Older[]; refuse: readonly string[]; hooked: boolean },
): string => {
  const passes = [
    '-o lo',
    `-p tcp -m conntrack --ctstate ESTABLISHED,RELATED --ctdir REPLY -m connmark --mark ${mark}`,
    ...icmpAnswers[family],
    ...older
      .filter(one => one.family === family)
      .map(({ port, remote, remotePort }) => `-d ${remote} -p tcp --sport ${port} --dport ${remotePort}`),
    ...gapRules(family, gap),
  ]
  const only = gap?.only?.filter(network => network.family === family).map(network => `-d ${networkText(network)} `)
  return [
    '*filter',
    // Naming a chain here empties it, in the same transaction that fills it again.
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

export const createFence = (tools: Tools): Fence => {
  let backend: Tool | undefined
  const program = (family: Family, verb: string) => `${family === 4 ? 'iptables' : 'ip6tables'}-${verb}`

  /** The rules of a family, by the first backend that this kernel answers. */
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

  const raiseOne = async (family: Family, gap: Gap | undefined, older: readonly Older[]): Promise<void> => {
    const lines = (await saved(family)).split('\n')
    const hooked = lines.includes(`-A OUTPUT -j ${outgoing}`) && lines.includes(`-A INPUT -j ${incoming}`)
    const failures: string[] = []
    for (const refuse of refusals[family])
      try {
        const rules = fenceRules(family, { gap, older, refuse, hooked })
        await tools.run(backend as Tool, [program(family, 'restore'), '--noflush'], rules)
        return
      } catch (error) {
        failures.push(messageOf(error))
      }
    throw new Error(`the firewall cannot be set: ${failures.at(-1)}`)
  }

  return {
    async raise(gap, older) {
      if (await hasIpv6()) await raiseOne(6, gap, older)
      await raiseOne(4, gap, older)
    },
    async look() {
      const lines = (await saved(4)).split('\n').filter(line => line.startsWith(`-A ${outgoing} `))
      if (lines.length === 0) return { kind: 'none' }
      const found = lines.map(line => / -o (\S+) -j RETURN$/.exec(line)?.[1]).find(name => name && name !== 'lo')
      return found ? { kind: 'open', interface: found } : { kind: 'closed' }
    },
  }
}

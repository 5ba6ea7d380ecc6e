/**
 * The way out for machines whose traffic is held to a policy: one address of the box, the last of the instance's block, where the proxy
 * listens. The links of such machines are in a device group of their own, and the fences ask for the group: no rule belongs to
 * one machine, so the thousandth costs what the first did.
 */
import { writeFile } from 'node:fs/promises'
import type { Clock } from '../../../../shared/clock.ts'
import { errno } from '../../../../shared/errors.ts'
import type { Log } from '../../../../shared/log.ts'
import type { OutboundPorts } from '../../driver.ts'
import { run, tool } from '../command.ts'
import type { Names } from '../names.ts'
import { addressText, sizeOf, type Network } from '../../../base/config/ipv4.ts'
import type { Slot } from './link.ts'
import { failureOf } from './trial.ts'

export interface Outbound {
  readonly address: string
  readonly ports: OutboundPorts
  /** Sends the slot's traffic there, before anything runs in it. */
  hold(slot: Pick<Slot, 'interface' | 'address'>, machine: string): Promise<void>
  /** The machine has no slot any more. */
  release(machine: string): void
  machineAt(address: string): string | undefined
}

interface OutboundDeps {
  readonly log: Log
  readonly clock: Clock
}

/** A machine that is held, and its link. */
export interface Held extends Pick<Slot, 'interface' | 'address'> {
  readonly machine: string
}

/** Below the ephemeral ones, on an address that is ours alone. */
const ports: OutboundPorts = { proxy: 14_080, transparent: 14_081, dns: 14_053, datagrams: 14_082 }

/** No group that people give to devices by hand; the fences ask for the instance's interfaces besides. */
const group = 0x4855

/** Matches what comes by the links of held machines. */
export const heldLink = `-m devgroup --src-group 0x${group.toString(16)}`
const labelOf = ({ tag }: Names): string => `lo:h${tag}`

/** QUIC's port, HTTP/3 of RFC 9114: nobody listens there. */
const quic = '-p udp -m udp --dport 443'

const to = (address: string, port: number) => `-j DNAT --to-destination ${address}:${port}`

/**
 * Questions of names, TCP and UDP end at the proxy; what it gets by name of its own is left alone. QUIC ends at its address too, where it is
 * refused: a client that hears nothing waits before it goes on with TCP.
 */
export const redirections = (chain: string, { address }: Pick<Outbound, 'address'>): string[] => [
  `-A ${chain} ${heldLink} -p udp -m udp --dport 53 ${to(address, ports.dns)}`,
  `-A ${chain} ${heldLink} -p tcp -m tcp --dport 53 ${to(address, ports.dns)}`,
  `-A ${chain} ${heldLink} ! -d ${address} -p tcp ${to(address, ports.transparent)}`,
  `-A ${chain} ${heldLink} ${quic} ${to(address, 443)}`,
  `-A ${chain} ${heldLink} ! -d ${address} -p udp ${to(address, ports.datagrams)}`,
]

/** What held machines may send to the box itself. */
export const admissions = (chain: string, { address }: Pick<Outbound, 'address'>): string[] => [
  ...[ports.proxy, ports.transparent, ports.dns].map(
    port => `-A ${chain} ${heldLink} -d ${address} -p tcp -m tcp --dport ${port} -j ACCEPT`,
  ),
  ...[ports.dns, ports.datagrams].map(
    port => `-A ${chain} ${heldLink} -d ${address} -p udp -m udp --dport ${port} -j ACCEPT`,
  ),
  `-A ${chain} ${heldLink} -d ${address} ${quic} -j REJECT --reject-with icmp-port-unreachable`,
]

/** Nothing of theirs is passed on by the kernel, whatever it is: UDP, ICMP, raw packets, protocols nobody has heard of. */
export const stop = (chain: string): string => `-A ${chain} ${heldLink} -j DROP`

const trial = `--wait 10 -t nat -A PREROUTING ${heldLink} -p tcp -j DNAT --to-destination 10.0.0.1:1`

/** Whether this kernel can tell the links apart; tried in a network namespace that ends with the attempt. Throws `driver_failed`. */
export const tryHold = async (): Promise<void> => {
  const args = ['--net', tool('iptables'), ...trial.split(' ')]
  await run({ step: 'outbound policy', file: tool('unshare'), args })
}

const canHold = async ({ log, clock }: OutboundDeps): Promise<boolean> => {
  const error = await failureOf(tryHold, clock)
  if (error) log.warn('outbound.unavailable', { error, next: 'load the kernel modules xt_devgroup and xt_nat' })
  return !error
}

/**
 * The link's packets are not passed on by the kernel, whatever the firewall says: what is not redirected to this box goes nowhere, also
 * while somebody has flushed the rules.
 */
const stopForwarding = (link: string): Promise<void> =>
  writeFile(`/proc/sys/net/ipv4/conf/${link}/forwarding`, '0').catch(error => {
    // The machine of an earlier server is just going.
    if (errno(error) !== 'ENOENT') throw error
  })

const addAddress = async (names: Names, address: string): Promise<void> => {
  await removeProxyAddress(names)
  const args = ['addr', 'replace', `${address}/32`, 'dev', 'lo', 'label', labelOf(names)]
  await run({ step: 'address of the outbound proxy', file: tool('ip'), args })
}

export const removeProxyAddress = async (names: Names): Promise<void> => {
  await run({
    step: 'address of the outbound proxy',
    file: tool('ip'),
    args: ['addr', 'flush', 'dev', 'lo', 'label', labelOf(names)],
  })
}

/** Opens the way out; undefined where the kernel cannot hold machines to it. `held` are the machines that run already. */
export const openOutbound = async (
  options: { names: Names; block: Network; taken: ReadonlyMap<number, string>; held: readonly Held[] },
  deps: OutboundDeps,
): Promise<Outbound | undefined> => {
  const { names, block, taken, held } = options
  const { log } = deps
  if (!(await canHold(deps))) return undefined
  const last = sizeOf(block) / 2 - 1
  if (taken.has(last)) {
    log.warn('outbound.unavailable', {
      next: 'a machine of an earlier version has its address; start again when it is gone',
    })
    return undefined
  }
  const address = addressText(block.base + sizeOf(block) - 1)
  await addAddress(names, address)
  const machines = new Map(held.map(({ address, machine }) => [address, machine]))
  // Who switches forwarding on for the box switches it on for every link.
  for (const { interface: link } of held) await stopForwarding(link)
  return {
    address,
    ports,
    async hold(slot, machine) {
      const args = ['link', 'set', 'dev', slot.interface, 'group', String(group)]
      await run({ step: 'outbound policy', file: tool('ip'), args })
      await stopForwarding(slot.interface)
      machines.set(slot.address, machine)
    },
    release(machine) {
      for (const [address, holder] of machines) if (holder === machine) machines.delete(address)
    },
    machineAt: given => machines.get(given),
  }
}

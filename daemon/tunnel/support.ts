/** Whether this daemon can and may make a tunnel; checked before anything is changed. */
import { existsSync, readFileSync, readlinkSync } from 'node:fs'
import { errno } from '../../shared/errors.ts'
import type { Tools } from './tools.ts'

const netAdmin = 12n

/** Whether CAP_NET_ADMIN is in the mask from /proc/self/status. */
const maySetNetwork = (): boolean => {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1] ?? '0'
  return ((BigInt(`0x${effective}`) >> netAdmin) & 1n) === 1n
}

/** A setting that exists in the machine's initial network namespace only. */
const machinesOnly = '/proc/sys/net/core/dev_weight'

/** It is the machine's own network when PID 1 is in it and is not this daemon. */
const isMachinesNetwork = (): boolean => {
  if (process.pid === 1) return false
  try {
    return readlinkSync('/proc/1/ns/net') === readlinkSync('/proc/self/ns/net')
  } catch (error) {
    if (!['EACCES', 'EPERM', 'ENOENT'].includes(errno(error) ?? '')) throw error
    // The namespace of PID 1 cannot be read, even by root where PID 1 is protected.
    return existsSync(machinesOnly)
  }
}

/**
 * Why the firewall and the routes here cannot or must not be changed, and what to do about it; undefined when they can.
 */
export const unsupportedReason = (tools: Tools): string | undefined => {
  if (process.platform !== 'linux') return 'tunnels are only supported on Linux'
  if (!maySetNetwork())
    return 'the daemon has no CAP_NET_ADMIN; start its container with --cap-add NET_ADMIN and --device /dev/net/tun'
  if (isMachinesNetwork())
    return 'this daemon shares the network of the whole machine, which a tunnel would cut off; run it in a sandbox, or in a network namespace of its own (ip netns exec NAME make daemon)'
  if (!tools.find('ip')) return 'ip is missing; install iproute2'
  if (!tools.find('xtables-nft-multi') && !tools.find('xtables-legacy-multi'))
    return 'iptables is missing; install iptables'
  return undefined
}

/** Why no WireGuard device can be made here, apart from the kernel's module. */
export const noUserspaceReason = (tools: Tools): string | undefined => {
  if (!tools.find('wireguard-go'))
    return 'neither the kernel module wireguard nor wireguard-go is there; install wireguard-go'
  if (!existsSync('/dev/net/tun'))
    return 'neither the kernel module wireguard nor /dev/net/tun is there; load one of the modules, or pass --device /dev/net/tun'
  return undefined
}

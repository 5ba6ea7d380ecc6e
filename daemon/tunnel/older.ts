import { readSockets, type Socket } from '../network/sockets.ts'
import { familyOf } from './address.ts'
import type { Older } from './fence.ts'

const mapped = '::ffff:'
/** More than this many are not carried over; nothing but a flood has them. */
const most = 4_096

const plain = (address: string): string => (address.startsWith(mapped) ? address.slice(mapped.length) : address)

/** The TCP connections that have come in: those whose local port is listened on. Loopback is left out. */
const cameIn = (sockets: readonly Socket[]): Older[] => {
  const tcp = sockets.filter(({ protocol }) => protocol === 'tcp')
  const listening = new Set(tcp.filter(({ state }) => state === 'LISTEN').map(({ localPort }) => localPort))
  const found = tcp.flatMap(({ localPort, remoteAddr, remotePort, state }): Older[] => {
    const remote = plain(remoteAddr)
    const family = familyOf(remote)
    if (state === 'LISTEN' || state === 'TIME-WAIT' || !listening.has(localPort) || !family) return []
    if (remote.startsWith('127.') || remote === '::1') return []
    return [{ family, port: localPort, remote, remotePort }]
  })
  return found.slice(0, most)
}

/** Those of this network namespace, now. */
export const olderConnections = async (): Promise<Older[]> => cameIn((await readSockets()) ?? [])

import { readSockets, type Socket } from '../network/sockets.ts'
import { familyOf } from './address.ts'
import type { InboundConnection } from './firewall.ts'

const mapped = '::ffff:'
/** At most so many connections continue; only an attack has more. */
const maxConnections = 4_096

const plain = (address: string): string => (address.startsWith(mapped) ? address.slice(mapped.length) : address)

/** The TCP connections that came in: those whose local port has a listener. Loopback is left out. */
const inboundAmong = (sockets: readonly Socket[]): InboundConnection[] => {
  const tcp = sockets.filter(({ protocol }) => protocol === 'tcp')
  const listening = new Set(tcp.filter(({ state }) => state === 'LISTEN').map(({ localPort }) => localPort))
  const found = tcp.flatMap(({ localPort, remoteAddr, remotePort, state }): InboundConnection[] => {
    const remote = plain(remoteAddr)
    const family = familyOf(remote)
    if (state === 'LISTEN' || state === 'TIME-WAIT' || !listening.has(localPort) || !family) return []
    if (remote.startsWith('127.') || remote === '::1') return []
    return [{ family, port: localPort, remote, remotePort }]
  })
  return found.slice(0, maxConnections)
}

/** The current ones of this network namespace. */
export const inboundConnections = async (): Promise<InboundConnection[]> => inboundAmong((await readSockets()) ?? [])

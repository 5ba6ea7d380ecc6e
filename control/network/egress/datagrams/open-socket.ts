/** The socket by which one flow of UDP leaves this host. */
import { createSocket } from 'node:dgram'
import type { Place } from '../../../base/relay/datagram-destination.ts'

export interface SocketEvents {
  /** A datagram of the place has come. */
  heard(bytes: Buffer): void
  /** It cannot begin: the box has no such address, or no way there. Never before `openSocket` returns, and nothing is heard after it. */
  failed(): void
}

export interface OpenSocket {
  send(bytes: Buffer): void
  end(): void
}

/** Sent before the socket is ready. */
const mostWaiting = 16
/** What the kernel has not taken yet; more is lost, as on any busy way. */
export const mostQueuedBytes = 1_048_576

/** UDP promises nothing: what cannot be sent is lost, and whoever sent it asks again. */
const lost = (): void => {}

/** Sends to that place, from `source` or the box's choice and a port of the kernel's; what others send there is not heard. */
export const openSocket = (to: Place, source: string | undefined, { heard, failed }: SocketEvents): OpenSocket => {
  const socket = createSocket('udp4')
  const waiting: Buffer[] = []
  let state: 'opening' | 'open' | 'over' = 'opening'
  const end = () => {
    if (state === 'over') return
    state = 'over'
    socket.close()
  }
  socket.on('error', () => {
    // Refused by the other side, which may listen later.
    if (state !== 'opening') return
    end()
    failed()
  })
  socket.on('message', heard)
  // Not as a callback of `connect`: that would be told of a failure in the place of the listener above.
  socket.once('connect', () => {
    if (state === 'over') return
    state = 'open'
    for (const bytes of waiting.splice(0)) socket.send(bytes, lost)
  })
  socket.bind(0, source, () => {
    if (state === 'opening') socket.connect(to.port, to.address)
  })
  return {
    end,
    send(bytes) {
      if (state === 'open' && socket.getSendQueueSize() < mostQueuedBytes) socket.send(bytes, lost)
      if (state === 'opening' && waiting.length < mostWaiting) waiting.push(bytes)
    },
  }
}

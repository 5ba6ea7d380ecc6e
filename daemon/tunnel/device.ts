import { networkText, type Family } from './address.ts'
import type { TunnelSettings } from './document.ts'

/** A WireGuard interface that is up and listens, but has no keys and no peer yet, so nothing passes through it. */
export interface Device {
  readonly kind: 'kernel' | 'process'
  /** Resolves with how its process ended; never for a device of the kernel, which has none. */
  readonly ended: Promise<string>
  /** Sets the keys and the peer. The first handshake is sent at once, so the firewall and the routes must allow it. */
  configurePeer(peer: Peer): Promise<void>
  /** Removes the interface; does nothing when it is gone. */
  remove(): Promise<void>
}

/** The peer by its address, never by name. */
export interface Peer {
  readonly family: Family
  readonly address: string
  readonly port: number
}

export const peerText = ({ family, address, port }: Peer): string =>
  family === 4 ? `${address}:${port}` : `[${address}]:${port}`

/** Lines for `ip -batch` that set the interface's MTU and address and bring it up. */
export const upLines = (settings: TunnelSettings): string =>
  [
    `link set dev ${settings.interface} mtu ${settings.mtu}`,
    `address add ${networkText(settings.local)} dev ${settings.interface}`,
    `link set dev ${settings.interface} up`,
    '',
  ].join('\n')

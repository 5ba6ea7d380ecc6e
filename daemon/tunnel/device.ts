import { networkText, type Family } from './address.ts'
import type { TunnelSettings } from './document.ts'

/** A WireGuard interface that is up and listens; without keys and peer, so it lets nothing through yet. */
export interface Device {
  readonly kind: 'kernel' | 'process'
  /** Resolves with how the process behind it ended; never where there is none. */
  readonly ended: Promise<string>
  /** Gives it its keys and its peer: the first handshake goes out at once, so its way must be open. */
  configurePeer(peer: Peer): Promise<void>
  /** Takes the interface away; fine when it is gone. */
  remove(): Promise<void>
}

/** The peer as it is spoken to: never by name. */
export interface Peer {
  readonly family: Family
  readonly address: string
  readonly port: number
}

export const peerText = ({ family, address, port }: Peer): string =>
  family === 4 ? `${address}:${port}` : `[${address}]:${port}`

/** Lines for `ip -batch` that give the interface its size and address, and bring it up. */
export const upLines = (settings: TunnelSettings): string =>
  [
    `link set dev ${settings.interface} mtu ${settings.mtu}`,
    `address add ${networkText(settings.local)} dev ${settings.interface}`,
    `link set dev ${settings.interface} up`,
    '',
  ].join('\n')

/** WireGuard's cross-platform control protocol (https://www.wireguard.com/xplatform/). */
import type { Socket } from 'node:net'
import { networkText } from './address.ts'
import { peerText, type Peer } from './device.ts'
import type { TunnelSettings } from './document.ts'

const limitMs = 20_000

/** A `set` request with the keys and the peer of a tunnel. */
export const peerRequest = (settings: TunnelSettings, peer: Peer): string =>
  [
    'set=1',
    `private_key=${settings.privateKey.toString('hex')}`,
    'replace_peers=true',
    `public_key=${settings.peerKey.toString('hex')}`,
    `endpoint=${peerText(peer)}`,
    ...(settings.keepalive > 0 ? [`persistent_keepalive_interval=${settings.keepalive}`] : []),
    'replace_allowed_ips=true',
    ...settings.allowed.map(network => `allowed_ip=${networkText(network)}`),
    '\n',
  ].join('\n')

/** Sends one request and waits for its answer, one at a time. Throws when it is refused or the connection ends. */
export const ask = (socket: Socket, what: string, request: string): Promise<void> =>
  new Promise((resolve, reject) => {
    let said = ''
    const done = (error?: Error) => {
      socket.setTimeout(0).off('timeout', slow).off('data', read).off('close', closed).off('error', done)
      if (error) reject(error)
      else resolve()
    }
    const slow = () => done(new Error(`wireguard-go did not answer, ${what}`))
    const closed = () => done(new Error(`wireguard-go went away, ${what}`))
    const read = (piece: Buffer) => {
      said += piece.toString('latin1')
      if (!said.endsWith('\n\n')) return
      const code = /^errno=(-?\d+)$/m.exec(said)?.[1]
      done(code === '0' ? undefined : new Error(`wireguard-go refused, ${what}: error ${code}`))
    }
    socket.setTimeout(limitMs).once('timeout', slow).on('data', read).once('close', closed).once('error', done)
    socket.write(request)
  })

/** TLS to servers: always verified, against the system's authorities and those the operator adds. */
import type { Socket } from 'node:net'
import { connect, createSecureContext, getCACertificates, type SecureContext, type TLSSocket } from 'node:tls'
import type { Clock } from '../../../../shared/clock.ts'
import { messageOf } from '../../../../shared/errors.ts'
import { isAddress } from '../../../../shared/policy/host.ts'

export type Secured =
  | { readonly ok: true; readonly socket: TLSSocket; readonly protocol: string }
  | { readonly ok: false; readonly reason: 'tls' | 'timeout'; readonly detail: string }

export interface UpstreamTls {
  /** Makes the connection secure as `host`; offers `protocols`. The TCP socket is its own from here on. */
  secure(socket: Socket, host: string, protocols: readonly string[]): Promise<Secured>
}

const handshakeMs = 10_000

/** `extraCa`: PEM text of authorities beside the system's. */
export const createUpstreamTls = (options: { extraCa: string | undefined }, deps: { clock: Clock }): UpstreamTls => {
  let shared: SecureContext | undefined
  // Made once, with the first use: reading all authorities takes long.
  const context = () =>
    (shared ??= createSecureContext({
      ca: [...getCACertificates('system'), ...(options.extraCa ? [options.extraCa] : [])],
      minVersion: 'TLSv1.2',
    }))
  return {
    secure: (socket, host, protocols) =>
      new Promise(resolve => {
        const secured = connect({
          socket,
          secureContext: context(),
          // An address has no place in SNI (RFC 6066, section 3); the certificate is checked for it all the same.
          ...(isAddress(host) ? { host } : { servername: host }),
          ALPNProtocols: [...protocols],
          rejectUnauthorized: true,
        })
        const fail = (reason: 'tls' | 'timeout', detail: string) => {
          stop()
          secured.destroy()
          resolve({ ok: false, reason, detail })
        }
        const stop = deps.clock.after(handshakeMs, () => fail('timeout', 'the TLS handshake took too long'))
        const onError = (error: Error) => fail('tls', `TLS to ${host}: ${messageOf(error)}`)
        secured.on('error', onError)
        secured.once('secureConnect', () => {
          stop()
          secured.off('error', onError)
          resolve({ ok: true, socket: secured, protocol: secured.alpnProtocol || '' })
        })
      }),
  }
}

/** Connections on which an authority looks whose a name is: told from others by the protocol they offer (RFC 8737). */
import { TLSSocket, type SecureContext, type Server } from 'node:tls'
import type { Socket } from 'node:net'
import type { Clock } from '../../../shared/clock.ts'
import { peek } from '../../network/egress/peek.ts'
import { maxHello, parseClientHello } from '../../network/egress/tls/client-hello.ts'

const protocol = 'acme-tls/1'
const helloMs = 10_000

const contextOf = (bytes: Buffer, shown: ReadonlyMap<string, SecureContext>): SecureContext | undefined => {
  const parsed = parseClientHello(bytes)
  if (parsed.kind !== 'hello' || !parsed.hello.protocols.includes(protocol)) return undefined
  return shown.get(parsed.hello.serverName ?? '')
}

const isEnough = (bytes: Buffer): boolean => bytes.length > maxHello || parseClientHello(bytes).kind !== 'more'

const answer = (socket: Socket, secureContext: SecureContext): void => {
  const secured = new TLSSocket(socket, { isServer: true, secureContext, ALPNProtocols: [protocol] })
  // The handshake was all.
  secured.on('error', () => secured.destroy()).once('secure', () => secured.end())
}

/** While anything is shown, each connection is looked at before the server has it; else nothing is in its way. */
export const divert = (server: Server, shown: ReadonlyMap<string, SecureContext>, clock: Clock): void => {
  const accept = server.listeners('connection')
  server.removeAllListeners('connection')
  const pass = (socket: Socket): void => {
    for (const take of accept) take.call(server, socket)
  }
  server.on('connection', (socket: Socket) => {
    if (shown.size === 0) return pass(socket)
    socket.on('error', () => socket.destroy())
    void peek(socket, clock, helloMs, isEnough).then(bytes => {
      const secureContext = bytes && contextOf(bytes, shown)
      if (secureContext) answer(socket, secureContext)
      else if (bytes) pass(socket)
      else socket.destroy()
    })
  })
}

/** TLS that is opened: secure to the server first, then to the sandbox with a certificate of the host's, in the protocol the server chose. */
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import type { Clock } from '../../../../shared/clock.ts'
import type { Reason } from '../http/answers.ts'
import { connectPlain, type Connected, type Origin } from '../http/origin.ts'
import { createPool } from '../http/pool.ts'
import { keepTunnel, tellTunnel, type Tunnel } from '../tunnel.ts'
import type { ClientHello } from './client-hello.ts'

const handshakeMs = 15_000
/** What is read once it is open. */
const readable = ['h2', 'http/1.1'] as const

/** The client's side made secure; undefined when the handshake fails or takes too long. */
const secureClient = (tunnel: Tunnel, host: string, protocol: string): Promise<TLSSocket | undefined> =>
  new Promise(resolve => {
    const { client, engine } = tunnel
    const secured = new TLSSocket(client, {
      isServer: true,
      secureContext: engine.authority.contextFor(host),
      ...(protocol && { ALPNProtocols: [protocol] }),
    })
    const finish = (result: TLSSocket | undefined) => {
      stop()
      if (!result) secured.destroy()
      resolve(result)
    }
    const stop = (engine.clock as Clock).after(handshakeMs, () => finish(undefined))
    secured.on('error', () => finish(undefined))
    secured.once('close', () => finish(undefined))
    secured.once('secure', () => {
      // Node's own server sets it, and node:http2 waits for it.
      Object.assign(secured, { secureConnecting: false })
      finish(secured)
    })
  })

/** Which protocol the answer page can be in; undefined when the client takes neither. */
const pageProtocol = ({ protocols }: ClientHello): '' | 'http/1.1' | undefined => {
  if (protocols.length === 0) return ''
  return protocols.includes('http/1.1') ? 'http/1.1' : undefined
}

/** Answers whatever is asked over the connection with one page, under a certificate for `host`. */
export const answerInTls = (
  tunnel: Tunnel,
  hello: ClientHello,
  host: string,
  reason: Reason,
  detail?: string,
): void => {
  const { engine, client } = tunnel
  const protocol = pageProtocol(hello)
  if (protocol === undefined) return void client.destroy()
  void secureClient(tunnel, host, protocol).then(secured => {
    if (secured) engine.http.refuse(secured, { reason, requestId: tunnel.requestId, detail })
  })
}

const offered = ({ protocols }: ClientHello): string[] =>
  protocols.length === 0 ? ['http/1.1'] : protocols.filter(protocol => readable.some(known => known === protocol))

/** Connections to the server beyond the first, in the protocol that was agreed on. */
const reconnect = async (tunnel: Tunnel, host: string, protocol: string): Promise<Connected> => {
  const { engine, tenant, address, port } = tunnel
  const connected = await connectPlain(engine, tenant, { host, address, port })
  if (!connected.ok) return connected
  const secured = await engine.upstreamTls.secure(connected.socket, host, [protocol])
  return secured.ok ? { ok: true, socket: secured.socket } : secured
}

const originOf = (tunnel: Tunnel, host: string, protocol: string, first: Socket | undefined): Origin => {
  const { engine, tenant, address, port, said } = tunnel
  let ready = first
  return {
    tenant,
    scheme: 'https',
    host,
    address,
    port,
    said,
    pool: createPool(engine.clock),
    async connect() {
      const socket = ready
      ready = undefined
      return socket && !socket.destroyed ? { ok: true, socket } : reconnect(tunnel, host, protocol)
    },
  }
}

/** Opens the connection to `host`, which `server` is connected to. */
export const openTls = async (tunnel: Tunnel, hello: ClientHello, host: string, server: Socket): Promise<void> => {
  const { engine, client } = tunnel
  const protocols = offered(hello)
  if (protocols.length === 0) {
    tellTunnel(tunnel, 'blocked', 'protocol', { host, protocol: 'https' })
    server.destroy()
    return void client.destroy()
  }
  const secured = await engine.upstreamTls.secure(server, host, protocols)
  if (!secured.ok) {
    tellTunnel(tunnel, 'blocked', secured.reason, { host, protocol: 'https' })
    return answerInTls(tunnel, hello, host, secured.reason, secured.detail)
  }
  const protocol = secured.protocol === 'h2' ? 'h2' : 'http/1.1'
  secured.socket.on('error', () => secured.socket.destroy())
  const opened = await secureClient(tunnel, host, hello.protocols.length === 0 ? '' : protocol)
  if (!opened) {
    // Mostly a program that does not trust the host's authority.
    tellTunnel(tunnel, 'blocked', 'handshake_failed', { host, protocol: 'https' })
    return void secured.socket.destroy()
  }
  serveOpened(tunnel, opened, originOf(tunnel, host, protocol, secured.socket), protocol)
  opened.once('close', () => secured.socket.destroy())
}

/** Reads what comes over the connection until it ends, or a new policy would not let it begin. */
const serveOpened = (tunnel: Tunnel, opened: TLSSocket, origin: Origin, protocol: string): void => {
  const { engine } = tunnel
  keepTunnel(tunnel, { host: origin.host, read: true }, opened)
  opened.once('close', origin.pool.close)
  if (protocol === 'h2') engine.http.serveHttp2(opened, origin)
  else engine.http.serve(opened, origin)
}

export const takesHttp1 = (hello: ClientHello): boolean => offered(hello).includes('http/1.1')

/** Opens the connection to `host`, to which nobody is connected yet. */
export const openLater = async (tunnel: Tunnel, hello: ClientHello, host: string): Promise<void> => {
  const opened = await secureClient(tunnel, host, hello.protocols.length === 0 ? '' : 'http/1.1')
  if (opened) serveOpened(tunnel, opened, originOf(tunnel, host, 'http/1.1', undefined), 'http/1.1')
  else tellTunnel(tunnel, 'blocked', 'handshake_failed', { host, protocol: 'https' })
}

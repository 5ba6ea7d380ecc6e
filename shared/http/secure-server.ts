/** The same server behind TLS: HTTP/2 for clients that offer it, HTTP/1.1 and its upgrades for the others. */
import { createSecureServer, type Http2SecureServer } from 'node:http2'
import type { SecureContext, TLSSocket } from 'node:tls'
import { PlainRequest, PlainResponse, socketsOfSessions } from './http2-messages.ts'
import { attach, mayUpgrade, timing, type ApiServer, type Listener } from './server.ts'

export interface SecureOptions {
  /** Bytes of a request's head. */
  readonly maxHeadBytes: number
  /** For the name that a client asks for; undefined for none. */
  readonly contextFor: (name: string) => Promise<SecureContext | undefined>
}

const handshakeMs = 10_000
const idleMs = 120_000

/** Sessions without a request for a while are closed, as connections of HTTP/1.1 are. */
const watchSessions = (server: Http2SecureServer): void => {
  let current: TLSSocket | undefined
  // Before Node's own listener, which makes a session of it at once.
  server.prependListener('secureConnection', socket => {
    current = socket
  })
  server.on('session', session => {
    if (current) socketsOfSessions.set(session, current)
    let open = 0
    session.on('stream', stream => {
      open++
      stream.once('close', () => open--)
    })
    session.setTimeout(idleMs, () => {
      if (open === 0) session.close()
    })
  })
}

/** A server for `on`. A client that names no host gets the certificate of `setSecureContext`. */
export const serveSecure = (
  on: Listener,
  { maxHeadBytes, contextFor }: SecureOptions,
): ApiServer & Http2SecureServer => {
  const server = createSecureServer({
    allowHTTP1: true,
    handshakeTimeout: handshakeMs,
    http1Options: { ...timing, maxHeaderSize: maxHeadBytes },
    settings: { enablePush: false, maxConcurrentStreams: 256, maxHeaderListSize: maxHeadBytes },
    Http2ServerRequest: PlainRequest,
    Http2ServerResponse: PlainResponse,
    SNICallback(name, done) {
      contextFor(name).then(
        context => done(null, context),
        (error: unknown) => done(error as Error),
      )
    },
  } as Parameters<typeof createSecureServer>[0])
  // As long as nobody else listens there.
  const [read] = server.listeners('secureConnection')
  Object.assign(server, {
    entrance: { event: 'secureConnection', read },
    shouldUpgradeCallback: mayUpgrade,
    closeAllConnections() {
      for (const socket of open) socket.destroy()
    },
  })
  watchSessions(server)
  const open = new Set<TLSSocket>()
  server.on('secureConnection', socket => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return attach(server as unknown as ApiServer, on as Listener) as ApiServer & Http2SecureServer
}

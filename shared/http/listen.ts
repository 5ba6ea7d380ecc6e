/** Listening on a port or socket; pausing, resuming and closing without losing an answer. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo, Server as SocketServer } from 'node:net'
import type { Duplex } from 'node:stream'
import type { ApiServer } from './server.ts'

export interface Listening {
  readonly port: number
  readonly server: Server
  /**
   * Stops accepting without closing the socket, which the caller must hold open by another descriptor: new connections
   * queue there. Resolves when no request waits for its answer any more, after `graceMs` at the latest.
   */
  pause(graceMs: number): Promise<void>
  /** Accepts again, on a listening socket. */
  resume(fd: number): Promise<void>
  /** Stops accepting, gives open requests `graceMs` to end, then cuts them. */
  close(graceMs?: number): Promise<void>
}

/** Port 0 picks a free one; a descriptor is a socket that listens already. */
export type Address = { port: number; host?: string } | { fd: number }

/** Has a server accept on a descriptor of a listening socket, which it closes at the end: `listening` or `error` says how that went. */
export type Accept = (server: SocketServer, fd: number) => void

export const acceptOn: Accept = (server, fd) => void server.listen({ fd })

/** Resolves when `server`, which `begin` has accept connections, does. */
export const accepting = (server: SocketServer, begin: () => void): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.once('listening', () => {
      server.off('error', reject)
      resolve()
    })
    begin()
  })

const bind = (server: Server, address: Address, accept: Accept): Promise<void> =>
  accepting(server, () => {
    if ('fd' in address) accept(server, address.fd)
    else server.listen({ port: address.port, host: address.host })
  })

/**
 * Resolves when no client waits for the start or the last bytes of an answer, and none has connected without having sent
 * a request. Streams in progress and upgraded sockets are not waited for.
 */
const answered = async (
  server: ApiServer,
  connections: ReadonlySet<Duplex>,
  taken: ReadonlySet<Duplex>,
  signal: AbortSignal,
): Promise<void> => {
  const { answers = new Set() } = server
  for (;;) {
    server.closeIdleConnections()
    const asking = new Set([...answers].map(({ req }) => req.socket as Duplex))
    const waiting = [
      ...[...answers].filter(({ headersSent, writableEnded }) => !headersSent || writableEnded),
      ...[...connections].filter(socket => !asking.has(socket) && !taken.has(socket)),
    ]
    if (waiting.length === 0) return
    const over = new AbortController()
    const any = { signal: AbortSignal.any([signal, over.signal]) }
    const changes = [once(server, 'request', any), ...waiting.map(one => once(one, 'close', any))]
    await Promise.race(changes).finally(() => over.abort())
    // The other waits were aborted with it.
    void Promise.allSettled(changes)
  }
}

export const listen = async (server: ApiServer, address: Address, accept = acceptOn): Promise<Listening> => {
  const connections = new Set<Duplex>()
  server.on('connection', socket => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  await bind(server, address, accept)
  const { port } = server.address() as AddressInfo
  // Node does not close upgraded sockets itself, yet waits for them when the server closes.
  const taken = new Set<Duplex>()
  server.on('upgrade', (_message, socket) => {
    taken.add(socket)
    socket.once('close', () => taken.delete(socket))
  })
  return {
    port,
    server,
    async pause(graceMs) {
      server.close()
      // What still runs then is cut off: the caller cannot wait for ever.
      await answered(server, connections, taken, AbortSignal.timeout(graceMs)).catch(() => undefined)
    },
    resume: fd => bind(server, { fd }, accept),
    async close(graceMs = 1_000) {
      const closed = new Promise<void>(resolve => server.close(() => resolve()))
      server.closeIdleConnections()
      const timer = setTimeout(() => {
        server.closeAllConnections()
        for (const socket of taken) socket.destroy()
      }, graceMs)
      await closed
      clearTimeout(timer)
    },
  }
}

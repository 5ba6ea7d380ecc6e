/** The channel of a daemon that the host has given a key. */
import type { Server } from 'node:http'
import type { Accept } from '../../shared/http/listen.ts'
import type { BootDocument } from '../../shared/wire/host.ts'
import { listenTcp } from '../native/descriptors/descriptors.ts'
import type { Inherited } from '../upgrade/handover.ts'
import { createListeningSocket, inheritedSocket, type ListeningSocket } from '../upgrade/listening-socket.ts'
import type { Connections } from './connections.ts'
import { createChannelListener } from './listener.ts'

interface Channel {
  readonly socket: ListeningSocket
  /** Undefined for a socket that an earlier daemon has left. */
  readonly port: number | undefined
  /** From now on `server` gets the connections that have proved a role. */
  serve(server: Server): Promise<void>
  close(): void
}

interface ChannelDeps {
  readonly connections: Connections
  readonly inherited: Inherited
  readonly accept: Accept
}

/** Its port is taken at once: whoever connects before `serve` waits. `connections` knows the roles that were proved. */
export const openChannel = (
  { channel: { key, port, from }, machine }: BootDocument,
  { connections, inherited, accept }: ChannelDeps,
): Channel => {
  const options = { key: Buffer.from(key, 'base64url'), machine: machine.id, from, accept }
  let server: Server | undefined
  const listener = createChannelListener(options, (connection, role) => {
    connections.prove(connection, role)
    server?.emit('connection', connection)
  })
  const left = inheritedSocket(inherited.channel)
  const place = left === undefined ? listenTcp(port) : { fd: left, port: undefined }
  const socket = createListeningSocket(place.fd, () => listener)
  return {
    socket,
    port: place.port,
    async serve(given) {
      server = given
      await listener.resume(socket.forServer())
    },
    close: listener.close,
  }
}

/** The channel of a daemon that the host has given a key. */
import type { Server } from 'node:http'
import type { BootDocument } from '../../shared/wire/host.ts'
import { listenTcp } from '../native/descriptors/descriptors.ts'
import type { Inherited } from '../upgrade/handover.ts'
import { createListeningSocket, inheritedSocket, type ListeningSocket } from '../upgrade/listening-socket.ts'
import type { Connections } from './connections.ts'
import { createChannelListener } from './listener.ts'

interface Channel {
  readonly socket: ListeningSocket
  /** From now on `server` gets the connections that have proved a role. */
  serve(server: Server): Promise<void>
  close(): void
}

/** Its port is taken at once: whoever connects before `serve` waits. `connections` knows the roles that were proved. */
export const openChannel = (
  { channel: { key, port, from }, machine }: BootDocument,
  { connections, inherited }: { connections: Connections; inherited: Inherited },
): Channel => {
  const options = { key: Buffer.from(key, 'base64url'), machine: machine.id, from }
  let server: Server | undefined
  const listener = createChannelListener(options, (connection, role) => {
    connections.prove(connection, role)
    server?.emit('connection', connection)
  })
  const socket = createListeningSocket(inheritedSocket(inherited.channel) ?? listenTcp(port).fd, () => listener)
  return {
    socket,
    async serve(given) {
      server = given
      await listener.resume(socket.forServer())
    },
    close: listener.close,
  }
}

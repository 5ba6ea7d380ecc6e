/** Connections that are handed to the kernel for good. */
import type { Socket } from 'node:net'
import { addon, handleOf, link, startRelay } from './addon.ts'
import { onceFlushed } from './once-flushed.ts'
import type { Relay } from './relay.ts'

const readAhead = (socket: Socket): Buffer => (socket.read() as Buffer | null) ?? Buffer.alloc(0)

/** Hands both connections to the addon: it has its own descriptors, Node's are closed. */
const handOver = (client: Socket, server: Socket, ended: () => void): (() => void) => {
  const [one, other] = [handleOf(client), handleOf(server)]
  const isOpen = !client.destroyed && !server.destroyed
  let end: (() => void) | undefined
  if (one && other && isOpen) {
    // What Node has read is taken along; from here on it reads no more.
    one.readStop()
    other.readStop()
    const [ahead, answered] = [readAhead(client), readAhead(server)]
    end = link(id => addon().join(id, one.fd, other.fd, ahead, answered), ended)
  }
  client.destroy()
  server.destroy()
  if (!end) ended()
  return end ?? (() => {})
}

/** Moves bytes in the kernel. For plain sockets only. */
export const kernelRelay = (): Relay => {
  startRelay()
  return {
    join(client, server, ended) {
      let end = () => {
        client.destroy()
        server.destroy()
      }
      // What Node still has to write must go before what follows.
      onceFlushed([client, server], () => {
        end = handOver(client, server, ended)
      })
      return () => end()
    },
  }
}

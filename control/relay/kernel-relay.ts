/** The engine's C addon (`relay.c`): moving bytes in the kernel, and where a redirected connection wanted to go. */
import { join } from 'node:path'
import type { Socket } from 'node:net'
import type { Relay } from './relay.ts'
import { nativeAddon } from '../native-addon.ts'

interface Addon {
  start(told: (id: number, fromClient: number, fromServer: number) => void): number
  join(id: number, client: number, server: number, clientAhead: Buffer, serverAhead: Buffer): number
  end(id: number): number
  originalDestination(descriptor: number): [number, number] | undefined
}

const addon = nativeAddon<Addon>(join(import.meta.dirname, 'build/relay.node'))

interface Handle {
  readonly fd: number
  readStop(): number
}

/** Node gives the descriptor of a socket to nobody; its handle has it on every system but Windows. */
const handleOf = (socket: Socket): Handle | undefined => {
  const { _handle: handle } = socket as unknown as { _handle: Handle | null }
  return handle && handle.fd >= 0 ? handle : undefined
}

/** Address and port a connection had before the network redirected it here; undefined when it did not. */
export const originalDestination = (socket: Socket): { address: string; port: number } | undefined => {
  const handle = handleOf(socket)
  const [number, port] = (handle && addon().originalDestination(handle.fd)) ?? []
  if (number === undefined || port === undefined) return undefined
  return { address: [24, 16, 8, 0].map(shift => (number >>> shift) & 255).join('.'), port }
}

const readAhead = (socket: Socket): Buffer => (socket.read() as Buffer | null) ?? Buffer.alloc(0)

interface Joined {
  readonly ended: () => void
}

/** All connections of the process: the addon has one thread. */
const joined = new Map<number, Joined>()
let lastId = 0
let started = false

const start = (): void => {
  if (started) return
  started = true
  const failure = addon().start(id => {
    const one = joined.get(id)
    joined.delete(id)
    one?.ended()
  })
  if (failure < 0) throw new Error(`the relay cannot start: errno ${-failure}`)
}

/** Hands both connections to the addon: it has its own descriptors, Node's are closed. */
const handOver = (client: Socket, server: Socket, ended: () => void): (() => void) => {
  const [one, other] = [handleOf(client), handleOf(server)]
  const done = () => {
    client.destroy()
    server.destroy()
  }
  if (!one || !other || client.destroyed || server.destroyed) {
    done()
    ended()
    return () => {}
  }
  // What Node has read is taken along; from here on it reads no more.
  one.readStop()
  other.readStop()
  const id = ++lastId
  const failure = addon().join(id, one.fd, other.fd, readAhead(client), readAhead(server))
  done()
  if (failure < 0) {
    ended()
    return () => {}
  }
  joined.set(id, { ended })
  return () => void addon().end(id)
}

const isFlushed = (socket: Socket): boolean => socket.writableLength === 0

/** Moves bytes in the kernel. For plain TCP sockets only. */
export const kernelRelay = (): Relay => {
  start()
  return {
    join(client, server, ended) {
      let end = () => {
        client.destroy()
        server.destroy()
      }
      const waiting = [client, server].filter(socket => !isFlushed(socket))
      if (waiting.length === 0) return handOver(client, server, ended)
      // Node still has bytes to write, which must go before those that follow.
      let left = waiting.length
      for (const socket of waiting)
        socket.write('', () => {
          if (--left === 0) end = handOver(client, server, ended)
        })
      return () => end()
    },
  }
}

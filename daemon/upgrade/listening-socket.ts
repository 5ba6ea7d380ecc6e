/** The daemon's listening sockets, which outlive the daemon: clients that connect while it is replaced wait in their queues. */
import { closeSync, fstatSync } from 'node:fs'
import { copyDescriptor } from '../native/descriptors/descriptors.ts'
import type { Inherited } from './handover.ts'

/** Requests under way have this long to be answered; then they are cut. */
const graceMs = 1_000

type Place = NonNullable<Inherited['listener']>

/** What accepts on a socket. */
interface Acceptor {
  pause(graceMs: number): Promise<void>
  resume(fd: number): Promise<void>
}

export interface ListeningSocket {
  /** The socket as the next daemon inherits it. */
  readonly inheritable: Place
  /** A descriptor for a server, which will close it. */
  forServer(): number
  /** Stops accepting and lets requests under way finish. */
  pause(): Promise<void>
  /** Accepts again, first those who waited. */
  resume(): Promise<void>
  close(): void
}

/** Keeps `fd`; `acceptor` gives the server on it, once there is one. */
export const createListeningSocket = (fd: number, acceptor: () => Acceptor | undefined): ListeningSocket => {
  let paused = false
  return {
    inheritable: { fd, inode: fstatSync(fd).ino },
    forServer: () => copyDescriptor(fd),
    async pause() {
      paused = true
      await acceptor()?.pause(graceMs)
    },
    async resume() {
      if (!paused) return
      paused = false
      await acceptor()?.resume(copyDescriptor(fd))
    },
    close: () => closeSync(fd),
  }
}

/** All by which requests come in. */
export interface Entrances {
  readonly inheritable: Pick<Inherited, 'listener' | 'channel'>
  pause(): Promise<void>
  resume(): Promise<void>
  close(): void
}

/** Those who are about to prove themselves on the channel are let through to the server before it is paused. */
export const createEntrances = (listener: ListeningSocket, channel: ListeningSocket | undefined): Entrances => ({
  inheritable: { listener: listener.inheritable, ...(channel && { channel: channel.inheritable }) },
  async pause() {
    await channel?.pause()
    await listener.pause()
  },
  async resume() {
    await listener.resume()
    await channel?.resume()
  },
  close() {
    channel?.close()
    listener.close()
  },
})

/** The descriptor that the previous daemon has left, if it still is that socket. */
export const inheritedSocket = (found: Inherited['listener']): number | undefined => {
  if (found === undefined) return undefined
  const stat = fstatSync(found.fd)
  return stat.isSocket() && stat.ino === found.inode ? found.fd : undefined
}

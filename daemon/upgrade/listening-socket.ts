/** The daemon's listening socket, which outlives the daemon: clients that connect while it is replaced wait in its queue. */
import { closeSync, fstatSync } from 'node:fs'
import type { Listening } from '../../shared/http/listen.ts'
import { copyDescriptor } from '../native/descriptors/descriptors.ts'
import type { Inherited } from './handover.ts'

/** Requests under way have this long to be answered; then they are cut. */
const graceMs = 1_000

export interface ListeningSocket {
  /** The socket as the next daemon inherits it. */
  readonly inheritable: NonNullable<Inherited['listener']>
  /** A descriptor for a server, which will close it. */
  forServer(): number
  /** Stops accepting and lets requests under way finish. */
  pause(): Promise<void>
  /** Accepts again, first those who waited. */
  resume(): Promise<void>
  close(): void
}

/** Keeps `fd`; `listening` gives the server on it, once there is one. */
export const createListeningSocket = (fd: number, listening: () => Listening | undefined): ListeningSocket => {
  let paused = false
  return {
    inheritable: { fd, inode: fstatSync(fd).ino },
    forServer: () => copyDescriptor(fd),
    async pause() {
      paused = true
      await listening()?.pause(graceMs)
    },
    async resume() {
      if (!paused) return
      paused = false
      await listening()?.resume(copyDescriptor(fd))
    },
    close: () => closeSync(fd),
  }
}

/** The descriptor that the previous daemon has left, if it still is that socket. */
export const inheritedSocket = (found: Inherited['listener']): number | undefined => {
  if (found === undefined) return undefined
  const stat = fstatSync(found.fd)
  return stat.isSocket() && stat.ino === found.inode ? found.fd : undefined
}

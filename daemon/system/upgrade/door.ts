/** The daemon's listening socket, which outlives the daemon: who connects while it is replaced waits in its queue. */
import { closeSync, fstatSync } from 'node:fs'
import type { Listening } from '../../../shared/http/listen.ts'
import { copyDescriptor } from '../../native/pipe.ts'
import type { Inherited } from './handover.ts'

/** Requests that wait for their answer get so long to get it; those that take longer are cut. */
const graceMs = 1_000

export interface Door {
  /** The socket, for the next daemon; undefined while there is none. */
  readonly place: Inherited['listener']
  /** Lets nobody in and those who wait for an answer out. */
  close(): Promise<void>
  /** Lets in who has waited. */
  open(): Promise<void>
}

/** `listening` gives what listens by now, if anything does. */
export const doorOf = (listening: () => Listening | undefined): Door => {
  let held: number | undefined
  return {
    get place() {
      return held === undefined ? undefined : { fd: held, inode: fstatSync(held).ino }
    },
    async close() {
      const fd = listening()?.fd
      if (fd === undefined) return
      held = copyDescriptor(fd)
      await listening()?.pause(graceMs)
    },
    async open() {
      if (held === undefined) return
      const fd = copyDescriptor(held)
      closeSync(held)
      held = undefined
      await listening()?.resume(fd)
    },
  }
}

/** Where to listen when the daemon before has left its socket and it still is that one. */
export const inheritedSocket = (found: Inherited['listener']): { fd: number } | undefined => {
  if (found === undefined) return undefined
  const stat = fstatSync(found.fd)
  return stat.isSocket() && stat.ino === found.inode ? { fd: found.fd } : undefined
}

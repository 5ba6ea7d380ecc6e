/**
 * Accepting on a socket that listens already, without `node:cluster`: `listen` loads it, and `node:child_process` with it, to find
 * that this process is nobody's worker. That is a twentieth of the processor time of the daemon's start.
 */
import { acceptOn, type Accept } from '../../shared/http/listen.ts'

/** What `listen` calls then. */
interface Inner {
  _listen2?(address: null, port: null, family: null, backlog: undefined, fd: number): void
}

export const acceptAlone: Accept = (server, fd) => {
  const inner = server as unknown as Inner
  if (typeof inner._listen2 !== 'function') return acceptOn(server, fd)
  inner._listen2(null, null, null, undefined, fd)
}

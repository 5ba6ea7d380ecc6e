/** Files to sockets by sendfile(2), on threads of our own (`send.c`). */
import { constants } from 'node:os'
import { lazy, loadAddon } from '../load.ts'

interface SendAddon {
  send_file(socket: number, fd: number, from: number, count: number): Started | number
  cancel(sending: object): void
}

interface Started {
  readonly sending: object
  readonly ended: Promise<Ended>
}

interface Ended {
  /** Bytes. */
  readonly sent: number
  /** errno; 0 when all was sent. */
  readonly error: number
}

interface Sending {
  /** Settles when no thread uses the descriptors any more, with the bytes that were sent, and whether the client has gone. */
  readonly ended: Promise<{ readonly sent: number; readonly isGone: boolean }>
  /** Ends it soon, and the connection with it. */
  cancel(): void
}

const addon = lazy(() => loadAddon<SendAddon>('send'))
const { EPIPE, ECONNRESET, ETIMEDOUT, ENOTCONN } = constants.errno
const goneErrors: readonly number[] = [EPIPE, ECONNRESET, ETIMEDOUT, ENOTCONN]

/**
 * Sends `count` bytes of `fd` from the offset `from` to a non-blocking socket that nobody else writes to meanwhile; it is
 * duplicated. The file must stay open until it has ended. Fewer bytes than asked for were sent when the file ends before, or
 * the system cannot send this one. Undefined when as many are being sent as may be, or there are no threads.
 */
export const sendFile = (socket: number, fd: number, from: number, count: number): Sending | undefined => {
  const native = addon()
  const started = native.send_file(socket, fd, from, count)
  if (typeof started === 'number') return undefined
  return {
    ended: started.ended.then(({ sent, error }) => ({ sent, isGone: goneErrors.includes(error) })),
    cancel: () => native.cancel(started.sending),
  }
}

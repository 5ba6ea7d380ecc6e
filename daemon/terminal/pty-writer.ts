/** Types into a terminal, no faster than its program reads. */
import { writeSync } from 'node:fs'
import type { Clock } from '../../shared/clock.ts'
import { errno } from '../../shared/errors.ts'

const minPauseMs = 1
const maxPauseMs = 64

export interface PtyWriter {
  /** Bytes that were typed and do not fit into the terminal yet. */
  readonly waiting: number
  /** A copy of them. */
  rest(): Buffer
  type(bytes: Buffer): void
  close(): void
}

/**
 * Types at the master side `fd`, which does not block. Node's own stream for a terminal tries again and again, in one turn
 * of the loop, until the program reads: one that never does would stop the daemon. The kernel tells nobody here when there is
 * room, so it is looked for, less and less often.
 */
export const createPtyWriter = (fd: number, clock: Pick<Clock, 'after'>, before: Buffer): PtyWriter => {
  let queue = before.length > 0 ? [before] : []
  let cancel: (() => void) | undefined
  let pauseMs = minPauseMs

  /** False when there is no room. */
  const typeOne = (bytes: Buffer): boolean => {
    try {
      const written = writeSync(fd, bytes)
      pauseMs = minPauseMs
      if (written < bytes.length) queue[0] = bytes.subarray(written)
      else queue.shift()
      return true
    } catch (error) {
      if (errno(error) === 'EAGAIN') return false
      // EIO: the other side is closed, and the end of the shell does the rest.
      queue = []
      return true
    }
  }
  const go = () => {
    cancel = undefined
    for (let next = queue[0]; next; next = queue[0]) {
      if (typeOne(next)) continue
      cancel = clock.after(pauseMs, go)
      pauseMs = Math.min(pauseMs * 2, maxPauseMs)
      return
    }
  }
  if (queue.length > 0) go()
  return {
    get waiting() {
      return queue.reduce((sum, { length }) => sum + length, 0)
    },
    rest: () => Buffer.concat(queue),
    type(bytes) {
      if (bytes.length === 0) return
      queue.push(bytes)
      if (!cancel) go()
    },
    close() {
      cancel?.()
      cancel = undefined
      queue = []
    },
  }
}

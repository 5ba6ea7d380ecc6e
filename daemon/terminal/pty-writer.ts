/** Writes to a pseudo-terminal, no faster than its program reads. */
import { writeSync } from 'node:fs'
import type { Clock } from '../../shared/clock.ts'
import { errno } from '../../shared/errors.ts'

const minPauseMs = 1
const maxPauseMs = 64

export interface PtyWriter {
  /** Bytes that do not fit into the terminal yet. */
  readonly pendingBytes: number
  /** A copy of them. */
  pending(): Buffer
  write(bytes: Buffer): void
  close(): void
}

interface Writing {
  readonly fd: number
  readonly clock: Pick<Clock, 'after'>
  queue: Buffer[]
  pauseMs: number
  cancelRetry: (() => void) | undefined
}

/** Writes the head of the queue; false when the terminal takes no more. */
const writeHead = (writing: Writing, bytes: Buffer): boolean => {
  try {
    const written = writeSync(writing.fd, bytes)
    writing.pauseMs = minPauseMs
    if (written < bytes.length) writing.queue[0] = bytes.subarray(written)
    else writing.queue.shift()
    return true
  } catch (error) {
    if (errno(error) === 'EAGAIN') return false
    // EIO: the other side is closed, and the end of the shell does the rest.
    writing.queue = []
    return true
  }
}

const flush = (writing: Writing): void => {
  writing.cancelRetry = undefined
  for (let head = writing.queue[0]; head; head = writing.queue[0]) {
    if (writeHead(writing, head)) continue
    writing.cancelRetry = writing.clock.after(writing.pauseMs, () => flush(writing))
    writing.pauseMs = Math.min(writing.pauseMs * 2, maxPauseMs)
    return
  }
}

/**
 * Writes to the non-blocking master side `fd`, beginning with `inherited`. Node's own stream for a terminal retries
 * within one turn of the event loop until the program reads, so a program that never reads would stop the daemon.
 * Nothing reports when the terminal takes more, so writing is tried again after longer and longer pauses.
 */
export const createPtyWriter = (fd: number, clock: Pick<Clock, 'after'>, inherited: Buffer): PtyWriter => {
  const queue = inherited.length > 0 ? [inherited] : []
  const writing: Writing = { fd, clock, queue, pauseMs: minPauseMs, cancelRetry: undefined }
  flush(writing)
  return {
    get pendingBytes() {
      return writing.queue.reduce((sum, { length }) => sum + length, 0)
    },
    pending: () => Buffer.concat(writing.queue),
    write(bytes) {
      if (bytes.length === 0) return
      writing.queue.push(bytes)
      if (!writing.cancelRetry) flush(writing)
    },
    close() {
      writing.cancelRetry?.()
      writing.cancelRetry = undefined
      writing.queue = []
    },
  }
}

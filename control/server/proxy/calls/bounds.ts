/** How long a call may last: without a byte either way, and in total. One look at all of them each second. */
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../../shared/clock.ts'
import { fail } from '../../../../shared/errors.ts'

export interface CallBounds {
  /** Without a byte, ms. */
  readonly idleMs: number
  /** In total, ms. */
  readonly totalMs: number
}

export const usualBounds: CallBounds = { idleMs: 100_000, totalMs: 15 * 60_000 }

const lookMs = 1_000

interface Watched {
  readonly socket: IncomingMessage['socket']
  readonly begunAt: number
  readonly ending: AbortController
  bytes: number
  heardAt: number
}

export interface Watch {
  /** Aborted with `timed_out` when the call has lasted too long. */
  readonly signal: AbortSignal
  stop(): void
}

export interface Watcher {
  watch(request: Pick<IncomingMessage, 'socket'>): Watch
  close(): void
}

const bytesOf = ({ bytesRead, bytesWritten }: Watched['socket']): number => bytesRead + bytesWritten

export const createWatcher = (clock: Clock, { idleMs, totalMs }: CallBounds): Watcher => {
  const all = new Set<Watched>()
  const over = (one: Watched, what: string, afterMs: number): void => {
    all.delete(one)
    one.ending.abort(fail('timed_out', { what, afterMs }))
  }
  const look = (one: Watched, now: number): void => {
    const bytes = bytesOf(one.socket)
    if (bytes !== one.bytes) {
      one.bytes = bytes
      one.heardAt = now
    }
    if (now - one.begunAt >= totalMs) over(one, 'a call that is not over', totalMs)
    else if (now - one.heardAt >= idleMs) over(one, 'a call without a byte', idleMs)
  }
  const close = clock.every(lookMs, () => {
    const now = clock.elapsed()
    for (const one of all) look(one, now)
  })
  return {
    watch({ socket }) {
      const now = clock.elapsed()
      const one = { socket, begunAt: now, heardAt: now, bytes: bytesOf(socket), ending: new AbortController() }
      all.add(one)
      return { signal: one.ending.signal, stop: () => void all.delete(one) }
    },
    close,
  }
}

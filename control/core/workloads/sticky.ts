/** Who stays with which revision, and with which machine while it is there: for as long as a record's `stickySessionTtl`. */
import { createHash } from 'node:crypto'
import type { Clock } from '../../../shared/clock.ts'

/** What a caller is known by: a thread id, or the revision that a cookie of ours names. */
export interface StickyKey {
  readonly thread?: string | undefined
  readonly revision?: string | undefined
}

export interface Pin {
  readonly revision: string
  readonly instance?: string
}

export interface Sticky {
  /** Where the thread was before. */
  of(uid: string, thread: string): Pin | undefined
  /** From now on it is there, for `ttlMs`. */
  pin(uid: string, thread: string, pin: Pin, ttlMs: number): void
}

/** Beyond, the oldest are forgotten. */
const most = 100_000

export const createSticky = (clock: Pick<Clock, 'elapsed'>): Sticky => {
  const all = new Map<string, { readonly pin: Pin; readonly until: number }>()
  const nameOf = (uid: string, thread: string): string =>
    createHash('sha256').update(`${uid} ${thread}`).digest('base64url')
  return {
    of(uid, thread) {
      const found = all.get(nameOf(uid, thread))
      return found && found.until > clock.elapsed() ? found.pin : undefined
    },
    pin(uid, thread, pin, ttlMs) {
      const name = nameOf(uid, thread)
      all.delete(name)
      all.set(name, { pin, until: clock.elapsed() + ttlMs })
      if (all.size > most) all.delete(all.keys().next().value as string)
    },
  }
}

/** The same revision for the same thread while the parts stay as they are, also after a restart. */
export const byThread = (thread: string, shares: ReadonlyMap<string, number>): string => {
  let left = createHash('sha256').update(thread).digest().readUInt32BE(0) % 100
  for (const [revision, part] of shares) {
    if (left < part) return revision
    left -= part
  }
  return shares.keys().next().value as string
}

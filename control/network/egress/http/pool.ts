/** Idle connections of one sandbox, by where they go. */
import type { Upstream } from './upstream.ts'

export interface Pool {
  /** An idle connection to the place, or undefined. */
  take(key: string): Upstream | undefined
  /** Keeps a connection until somebody takes it, it ends, or it has waited too long. */
  give(key: string, upstream: Upstream): void
  /** Ends what has waited too long; to be called now and then. */
  sweep(): void
  /** Ends what is idle now. */
  clear(): void
  close(): void
}

interface Idle {
  readonly upstream: Upstream
  readonly since: number
  readonly forget: () => void
}

/** Below what servers commonly wait for the next request. */
const idleMs = 4_000
const maxPerKey = 64
const maxKeys = 64
/** Of one sandbox, wherever they go. */
const maxIdle = 256

/** Leaves the list when its server closes it. */
const waiting = (list: Idle[], upstream: Upstream, since: number, gone: () => void): Idle => {
  const one: Idle = {
    upstream,
    since,
    forget() {
      const at = list.indexOf(one)
      if (at < 0) return
      list.splice(at, 1)
      gone()
    },
  }
  upstream.socket.once('close', one.forget)
  return one
}

/** Has no timer of its own: one for all sandboxes sweeps. */
export const createPool = (deps: { now: () => number }): Pool => {
  const idle = new Map<string, Idle[]>()
  let count = 0
  let closed = false
  const drop = (one: Idle): void => {
    count--
    one.upstream.socket.off('close', one.forget)
    one.upstream.destroy()
  }
  const dropOldest = (): void => {
    const [key, list] = idle.entries().next().value as [string, Idle[]]
    idle.delete(key)
    for (const one of list) drop(one)
  }
  const clear = (): void => {
    while (idle.size > 0) dropOldest()
  }
  return {
    take(key) {
      const list = idle.get(key)
      for (let one = list?.pop(); one; one = list?.pop()) {
        count--
        one.upstream.socket.off('close', one.forget)
        if (one.since + idleMs >= deps.now()) return one.upstream
        one.upstream.destroy()
      }
      return undefined
    },
    give(key, upstream) {
      if (closed) return upstream.destroy()
      const list = idle.get(key) ?? []
      // Put last: the least lately used place is the first to go.
      idle.delete(key)
      idle.set(key, list)
      list.push(waiting(list, upstream, deps.now(), () => count--))
      count++
      if (list.length > maxPerKey) drop(list.shift() as Idle)
      if (idle.size > maxKeys || count > maxIdle) dropOldest()
    },
    sweep() {
      const oldest = deps.now() - idleMs
      for (const [key, list] of idle) {
        while (list[0] && list[0].since < oldest) drop(list.shift() as Idle)
        if (list.length === 0) idle.delete(key)
      }
    },
    clear,
    close() {
      closed = true
      clear()
    },
  }
}

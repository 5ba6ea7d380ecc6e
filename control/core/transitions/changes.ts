import { fail } from '../../../shared/errors.ts'

/** Tells whoever waits that something about a resource changed. Holds no state of its own. */
export interface Changes {
  changed(uid: string): void
  /**
   * Resolves with the first defined value that `look` gives, looking now and after each change.
   * Throws `timed_out` after `boundMs`, or the signal's reason.
   */
  until<T>(
    uid: string,
    look: () => Promise<T | undefined>,
    options: { what: string; boundMs: number; signal?: AbortSignal },
  ): Promise<T>
}

export const changes = (): Changes => {
  const waiting = new Map<string, Set<() => void>>()
  const wait = (uid: string, signal: AbortSignal): { woken: Promise<void>; forget: () => void } => {
    const set = waiting.get(uid) ?? new Set()
    waiting.set(uid, set)
    let wake = () => {}
    const woken = new Promise<void>((resolve, reject) => {
      wake = resolve
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    set.add(wake)
    const forget = () => {
      set.delete(wake)
      // Others may wait in a newer set by now: those that were told together do not leave together.
      if (set.size === 0 && waiting.get(uid) === set) waiting.delete(uid)
    }
    // A rejection nobody waits for any more is not an error.
    woken.catch(() => {})
    return { woken, forget }
  }
  return {
    changed(uid) {
      const set = waiting.get(uid)
      if (!set) return
      waiting.delete(uid)
      for (const wake of set) wake()
    },
    async until(uid, look, { what, boundMs, signal }) {
      const bound = AbortSignal.timeout(boundMs)
      const both = signal ? AbortSignal.any([signal, bound]) : bound
      for (;;) {
        // Waiting starts before the look, so that a change in between is not missed.
        const { woken, forget } = wait(uid, both)
        try {
          const value = await look()
          if (value !== undefined) return value
          await woken
        } catch (error) {
          if (bound.aborted && error === bound.reason) throw fail('timed_out', { what, afterMs: boundMs }, error)
          throw error
        } finally {
          forget()
        }
      }
    },
  }
}

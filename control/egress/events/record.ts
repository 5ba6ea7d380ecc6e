/** What a sandbox asked for, kept apart from its events, so that a long run loses nothing of what is learnt from it. */
import type { Seen } from '../../../shared/policy/learn.ts'

export interface DecisionRecord {
  add(seen: Seen): void
  readonly seen: Iterable<Seen>
  /** More hosts were asked for than are kept. */
  readonly full: boolean
}

/** Hosts kept; a sandbox that asks for more is not one to learn a list from. */
const maxEntries = 4096

/** Remembers each host once with each of its methods. Paths are left out: they are not learnt from. */
export const createRecord = (): DecisionRecord => {
  const entries = new Map<string, Seen>()
  let full = false
  return {
    add({ host, method }) {
      const key = `${method ?? ''} ${host}`
      if (entries.has(key)) return
      if (entries.size >= maxEntries) full = true
      else entries.set(key, { host, method })
    },
    get seen() {
      return entries.values()
    },
    get full() {
      return full
    },
  }
}

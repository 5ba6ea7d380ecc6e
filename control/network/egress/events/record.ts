/** What a sandbox asked for, kept apart from its events, so that a long run loses nothing of what is learnt from it. */
import type { Seen } from '../../../../shared/policy/learn.ts'
import type { KeptLines } from './kept.ts'

export interface DecisionRecord {
  add(seen: Seen): void
  readonly seen: Iterable<Seen>
  /** More hosts were asked for than are kept. */
  readonly full: boolean
}

/** Hosts kept; a sandbox that asks for more is not one to learn a list from. */
export const maxEntries = 4096

const isSeen = (value: unknown): value is Seen =>
  typeof value === 'object' && value !== null && typeof (value as Seen).host === 'string'

/** Remembers each host once with each of its methods. Paths are left out: they are not learnt from. */
export const createRecord = (kept: KeptLines): DecisionRecord => {
  let loaded: Map<string, Seen> | undefined
  let full = false
  const keyOf = ({ host, method }: Seen): string => `${method ?? ''} ${host}`
  const entries = (): Map<string, Seen> =>
    (loaded ??= new Map(
      kept
        .load()
        .filter(isSeen)
        .map(seen => [keyOf(seen), seen]),
    ))
  return {
    add({ host, method }) {
      const seen = { host, method }
      const key = keyOf(seen)
      if (entries().has(key)) return
      if (entries().size >= maxEntries) return void (full = true)
      entries().set(key, seen)
      kept.append([seen])
    },
    get seen() {
      return entries().values()
    },
    get full() {
      return full
    },
  }
}

import type { Database } from 'better-sqlite3'

/** Entries of one look-up; beyond, all are forgotten and it begins anew. */
const most = 1_000

export interface Remembered {
  /** `look` that remembers what it found, by its argument, until `forget` or a write of another process. */
  of<Found>(look: (key: string) => Found | undefined): (key: string) => Found | undefined
  /** Called after every write of this process to what is remembered. */
  forget(): void
}

export interface Remembering {
  /** Look-ups that are forgotten together. */
  anew(): Remembered
  /** Called with every write of this process, to whatever. */
  wrote(): void
  /** Another one after every write, of this process or another. */
  moment(): number
}

const remember = <Found>(
  look: (key: string) => Found | undefined,
  { caches, lookForOthers }: { caches: Map<string, unknown>[]; lookForOthers: () => void },
) => {
  const cache = new Map<string, Found>()
  caches.push(cache)
  return (key: string): Found | undefined => {
    lookForOthers()
    const known = cache.get(key)
    if (known !== undefined) return known
    const found = look(key)
    if (cache.size >= most) cache.clear()
    if (found !== undefined) cache.set(key, found)
    return found
  }
}

/**
 * Answers of look-ups that every request makes and that change rarely. Never older than the database: writes of this
 * process forget them, and those of others are seen by `data_version`, which SQLite counts up for each connection
 * whenever another one has committed. What is not found is not remembered, or strangers could fill the memory.
 */
export const remembering = (db: Database): Remembering => {
  const version = db.prepare('PRAGMA data_version').pluck()
  const forgets: (() => void)[] = []
  let seen: unknown
  let looked = false
  let moment = 0
  /** Once a turn of the event loop: what a request asks for was written before it came, which is before the turn. */
  const lookForOthers = () => {
    if (looked) return
    looked = true
    setImmediate(() => {
      looked = false
    })
    const now = version.get()
    if (now !== seen) {
      moment++
      for (const forget of forgets) forget()
    }
    seen = now
  }
  return {
    anew() {
      const caches: Map<string, unknown>[] = []
      const forget = () => {
        for (const cache of caches) cache.clear()
      }
      forgets.push(forget)
      return { forget, of: look => remember(look, { caches, lookForOthers }) }
    },
    wrote: () => void moment++,
    moment() {
      lookForOthers()
      return moment
    },
  }
}

/** The bill of a data directory, held against what can have been. */
import { join } from 'node:path'
import { openStore } from '../../control/core/store/sqlite/open.ts'
import type { Interval, Store } from '../../control/core/store/store.ts'
import { silentLog } from '../../shared/log.ts'

/** Intervals that begin before the one before of the same instance and dimension has ended. */
export const twice = (intervals: readonly Interval[]): Interval[] =>
  [...Map.groupBy(intervals, ({ uid, dimension }) => `${uid} ${dimension}`).values()].flatMap(some => {
    const ordered = some.toSorted((a, b) => a.from - b.from)
    return ordered.filter((one, at) => at > 0 && (ordered[at - 1]?.to ?? Infinity) > one.from)
  })

/** Looks into the database of a server that may run. */
export const withStore = async <T>(dataDir: string, look: (store: Store) => Promise<T>): Promise<T> => {
  const store = await openStore({ path: join(dataDir, 'hutch.db'), asItIs: true }, { log: silentLog })
  try {
    return await look(store)
  } finally {
    await store.close()
  }
}

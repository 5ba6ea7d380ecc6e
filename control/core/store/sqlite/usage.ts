/**
 * Sums of usage. Whole hours, days and months come from the rollups; a window that starts or ends inside an hour
 * gets the missing piece from that hour's intervals; what is not rolled yet comes from the intervals themselves.
 */
import type { Database } from 'better-sqlite3'
import { toUnits } from '../amounts.ts'
import type { UsageQuery, UsageRow } from '../store.ts'
import { columnsOf, fromLimbs, needsSubjects } from './columns.ts'
import { shaped } from './prepared.ts'
import { rangesOf } from './ranges.ts'
import { firstMonth, fromHour, fromRollups, fromTotals, notRolled } from './sums.ts'

type Group = Omit<UsageRow, 'usage' | 'parts' | 'bucket'>

/** Adds amounts up per bucket and group. */
const adder = () => {
  const cells = new Map<string, Group & { bucket: number; parts: bigint }>()
  return {
    add(bucket: number, sum: Record<'workspace' | 'type' | 'name' | 'uid' | 'dimension', string>, parts: bigint) {
      const { workspace, type, name, uid, dimension } = sum
      const key = `${bucket}\0${workspace}\0${type}\0${name}\0${uid}\0${dimension}`
      const cell = cells.get(key)
      if (cell) cell.parts += parts
      else
        cells.set(key, {
          workspace,
          resourceType: type,
          resourceName: name,
          resourceUuid: uid,
          billingDimension: dimension,
          bucket,
          parts,
        })
    },
    rows: (): UsageRow[] =>
      [...cells.values()].filter(cell => cell.parts > 0n).map(cell => ({ ...cell, usage: toUnits(cell.parts) })),
  }
}

/** Index of the bucket that holds `time`. */
const bucketOf = (buckets: readonly number[], time: number): number => {
  let low = 0
  let high = buckets.length
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((buckets[middle] as number) <= time) low = middle
    else high = middle
  }
  return low
}

/** Must run inside a transaction: rollups and intervals are read one after the other. */
export const usageReader = (db: Database) => {
  const run = shaped(db)
  const sums = shaped(db, { exact: true })
  return (asked: UsageQuery, now: number): UsageRow[] => {
    const { buckets, from, to } = asked
    const columns = columnsOf(asked.groupBy)
    const whole = needsSubjects(asked, columns) ? fromRollups : fromTotals
    const total = adder()
    const first = run(firstMonth(asked))[0]?.start ?? Infinity
    // Counts lie up to a second ahead of the clock.
    const last = Math.min(to, now + 1000)
    for (const [bucket, start] of buckets.entries()) {
      const end = Math.min(buckets[bucket + 1] ?? to, last)
      for (const range of rangesOf(Math.max(start, from, first), end))
        for (const sum of sums((range.grain === 'part' ? fromHour : whole)(asked, columns, range)))
          total.add(bucket, sum, fromLimbs(sum))
    }
    for (const tail of run(notRolled(asked, columns, now))) {
      let at = tail.from
      for (let bucket = bucketOf(buckets, at); at < tail.to; bucket++) {
        const until = Math.min(tail.to, buckets[bucket + 1] ?? tail.to)
        total.add(bucket, tail, BigInt(tail.quantity) * BigInt(until - at))
        at = until
      }
    }
    return total.rows()
  }
}

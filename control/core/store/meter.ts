/** What instances use, as it will stand on the bill. */
import type { Grouping } from '../../../shared/wire/billing.ts'

/** A metered quantity that holds from a change on: `quantity` units of `dimension` per second. */
export interface Rate {
  readonly dimension: string
  readonly quantity: number
}

/** Whom an interval belongs to, as the bill names it: an instance by the names of its owner. */
export interface Subject {
  readonly uid: string
  readonly kind: string
  readonly workspace: string
  readonly name: string
}

export interface UsageQuery {
  readonly account: string
  readonly from: number
  /** Exclusive. */
  readonly to: number
  /** Start of each bucket, ascending; each ends where the next starts, the last at `to`. Hour-aligned except the ends of the window. */
  readonly buckets: readonly number[]
  readonly groupBy: readonly Grouping[]
  readonly workspace?: string
  readonly resourceType?: string
  readonly resourceName?: string
  readonly resourceUuid?: string
  readonly billingDimension?: string
}

/**
 * Usage of one group, dimension and bucket; rows of zero are left out. Fields that the grouping does not tell apart
 * are ''. A name comes with its workspace and type, a uuid with its name, workspace and type, a billing dimension
 * with its type; `billingDimension` is always there, because the price depends on it.
 */
export interface UsageRow {
  readonly workspace: string
  readonly resourceType: string
  readonly resourceName: string
  readonly resourceUuid: string
  readonly billingDimension: string
  /** Index into `buckets`. */
  readonly bucket: number
  /** quantity × seconds, or counts. */
  readonly usage: number
  /** The same, exact: in `partsPerUnit` of a unit (amounts.ts). */
  readonly parts: bigint
}

export interface Interval {
  readonly uid: string
  readonly workspace: string
  readonly resourceType: string
  readonly resourceName: string
  readonly dimension: string
  readonly quantity: number
  readonly from: number
  readonly to: number | null
}

export interface Meter {
  /** Records `quantity` at a moment, for dimensions that are counted. `now` is rounded down to a second. */
  count(subject: Subject, dimension: string, quantity: number, now: number): Promise<void>
  /** Marks open intervals as accounted up to `now`, but for those of the instances `except`, and moves what was completed into the rollups. */
  checkpoint(now: number, except?: readonly string[]): Promise<void>
  /** Sums of rollups, plus what the open intervals add up to `now`. */
  usage(query: UsageQuery, now: number): Promise<UsageRow[]>
  /** Resource types with any usage in the window, sorted. */
  resourceTypes(
    whose: Pick<UsageQuery, 'account' | 'workspace'>,
    from: number,
    to: number,
    now: number,
  ): Promise<string[]>
  /** The intervals behind a sum; the evidence of the bill. */
  intervals(uid: string): Promise<Interval[]>
  /** Computes all rollups again from the intervals. */
  rebuild(now: number): Promise<void>
}

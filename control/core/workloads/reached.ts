/** What a revision has reached: whether it serves, and which part of the calls. */
import type { Resource } from '../store/store.ts'
import { sharesOf, trafficIn, isLive, isTarget } from './traffic.ts'

/** Undefined for a record none of whose revisions has served yet. */
export const reachedBy = (record: Resource, revision: string) => {
  const { serving, failed = [] } = trafficIn(record)
  if (!serving || !isLive(record)) return undefined
  const trafficPercent = sharesOf(record).get(revision) ?? 0
  if (failed.includes(revision)) return { status: 'FAILED', trafficPercent: 0 }
  if (isTarget(record, revision)) return { status: record.status, trafficPercent }
  return { status: sharesOf(record).has(revision) ? 'DEPLOYED' : 'DEACTIVATED', trafficPercent }
}

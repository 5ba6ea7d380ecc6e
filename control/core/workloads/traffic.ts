/** Which revisions of a record have machines, and which of them serve: from what the spec wants and what was reached so far. */
import type { Wanted } from '../transitions/rules.ts'
import { isMade } from '../transitions/slot.ts'
import { revisionsOf, trafficOf } from '../records/revisions.ts'
import type { Resource } from '../store/store.ts'
import { activeOf, specOfRevision, type ContentOf } from './content.ts'

/** What the record remembers (`internal.traffic`). */
export interface Traffic {
  /** The revision that gets calls: the last one that was ready when it was to be. */
  readonly serving?: string
  /** The one that served before it, whose machines stay for a while: calls under way end there, and it can serve again at once. */
  readonly previous?: string
  /** Revisions that could not be started. */
  readonly failed?: readonly string[]
  /** How many machines a revision needs just now, where that is not one. */
  readonly scale?: Readonly<Record<string, number>>
}

export const trafficIn = ({ internal }: Pick<Resource, 'internal'>): Traffic =>
  (internal['traffic'] as Traffic | undefined) ?? {}

export const usedRevisions = ({ serving, previous }: Traffic): readonly string[] =>
  [serving, previous].filter(one => one !== undefined)

/** Statuses in which a record serves what it last reached. */
const live: ReadonlySet<string> = new Set(['UPLOADING', 'BUILDING', 'DEPLOYING', 'DEPLOYED', 'FAILED'])

export const isLive = ({ status }: Pick<Resource, 'status'>): boolean => live.has(status)

/** Whether the revision waits for its image: it is the newest one while something is uploaded or built. */
const isComing = (record: Resource, revision: string): boolean =>
  isMade(record.status) && revisionsOf(record).all.at(-1)?.id === revision

/** The canary that is to get calls beside the active revision. */
export const canaryOf = (record: Resource): string | undefined => {
  const { active, canary, canaryPercent = 0 } = trafficOf(record.spec)
  return canary && canary !== active && canaryPercent > 0 && !isComing(record, canary) ? canary : undefined
}

/** Whether the revision is one that is on its way and does not serve yet. */
export const isTarget = (record: Resource, revision: string): boolean =>
  record.status === 'DEPLOYING' && activeOf(record) === revision && trafficIn(record).serving !== revision

/** The machines that a record is to have, by revision. */
export const wantedBy =
  (contentOf: ContentOf) =>
  (record: Resource): readonly Wanted[] => {
    if (!isLive(record)) return []
    const { serving, previous, failed = [], scale = {} } = trafficIn(record)
    const leastOf = (revision: string) => contentOf(specOfRevision(record, revision)).minScale
    const counts = new Map<string, number>()
    if (serving) counts.set(serving, Math.max(leastOf(serving), scale[serving] ?? 1))
    const target = activeOf(record)
    // As many as the one whose calls it is to take over.
    if (isTarget(record, target))
      counts.set(target, Math.max(1, leastOf(target), serving ? (counts.get(serving) ?? 0) : 0))
    const canary = canaryOf(record)
    if (serving && canary && !counts.has(canary) && !failed.includes(canary))
      counts.set(canary, Math.max(leastOf(canary), scale[canary] ?? 1))
    if (previous && !counts.has(previous)) counts.set(previous, scale[previous] ?? 1)
    return [...counts].flatMap(([revision, count]) => (count > 0 ? [{ revision, count }] : []))
  }

/** How calls are shared out between revisions: the part of each, of a hundred. */
export const sharesOf = (record: Resource): ReadonlyMap<string, number> => {
  const { serving, failed = [] } = trafficIn(record)
  if (!serving) return new Map()
  const canary = canaryOf(record)
  const { canaryPercent = 0 } = trafficOf(record.spec)
  if (!canary || canary === serving || failed.includes(canary)) return new Map([[serving, 100]])
  return new Map([
    [serving, 100 - canaryPercent],
    [canary, canaryPercent],
  ])
}

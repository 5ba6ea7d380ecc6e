/** What is due for a record by what its machines are: another revision serves, one is given up, one that nobody calls loses its machines. */
import { isUp } from '../transitions/instance-life.ts'
import type { Settled, Step, Workload } from '../transitions/rules.ts'
import type { Instance, Resource } from '../store/store.ts'
import { activeOf, specOfRevision, type ContentOf } from './content.ts'
import { canaryOf, isLive, isTarget, trafficIn, wantedBy, type Traffic } from './traffic.ts'

interface Face {
  readonly contentOf: ContentOf
}

const upOf = (instances: readonly Instance[], revision: string): number =>
  instances.filter(one => one.revision === revision && isUp(one)).length

const remember = (record: Resource, change: Traffic): Resource['internal'] => ({
  traffic: { ...trafficIn(record), ...change },
})

const revisionsIn = (record: Resource, revision: string) => {
  const canary = canaryOf(record)
  return { revision, ...(canary ? { canaryRevision: canary } : {}) }
}

/** The revision that was on its way serves from now on. */
const switched = (record: Resource, count: number): Step => {
  const target = activeOf(record)
  const { serving, scale = {} } = trafficIn(record)
  const before = serving === target ? undefined : serving
  return {
    event: { name: 'deployed', message: 'deployed', revisions: revisionsIn(record, target) },
    internal: remember(record, {
      serving: target,
      ...(before ? { previous: before } : {}),
      scale: { ...scale, [target]: count },
    }),
  }
}

/** A revision that was ready and is not any more, before it is given a call, is not given any. */
const lostReadiness = (record: Resource, instances: readonly Instance[]): Step | undefined => {
  const target = activeOf(record)
  const { serving } = trafficIn(record)
  const lost = instances.find(one => one.revision === target && one.startedAt !== undefined && !isUp(one))
  if (!lost || !serving || serving === target || lost.status === 'stopping') return undefined
  return abandon(record, lost, lost.errors.at(-1)?.message ?? 'its machine ended before it was to serve')
}

const deploying = ({ contentOf }: Face, record: Resource, instances: readonly Instance[]): Settled => {
  const target = activeOf(record)
  const wanted = wantedBy(contentOf)(record).find(({ revision }) => revision === target)?.count ?? 0
  const step = upOf(instances, target) >= wanted ? switched(record, wanted) : lostReadiness(record, instances)
  return { step }
}

/** Machines of a revision that nobody has called for long go; the next call makes one. */
const retiring = (
  { contentOf }: Face,
  record: Resource,
  instances: readonly Instance[],
  { now, removeAfterMs }: { readonly now: number; readonly removeAfterMs: number },
): Settled => {
  let againMs: number | undefined
  for (const { revision } of wantedBy(contentOf)(record)) {
    const its = instances.filter(one => one.revision === revision)
    const isAsleep = its.length > 0 && its.every(({ status }) => status === 'standby')
    const isKept = isTarget(record, revision) || contentOf(specOfRevision(record, revision)).minScale > 0
    if (its.length === 0 || (isKept && revision !== trafficIn(record).previous)) continue
    const asleepAt = isAsleep ? Math.max(...its.map(({ turnedAt = 0 }) => turnedAt)) : now
    const leftMs = asleepAt + removeAfterMs - now
    if (leftMs <= 0) return { step: { internal: retired(record, revision) } }
    againMs = Math.min(againMs ?? leftMs, leftMs)
  }
  return { againMs }
}

const retired = (record: Resource, revision: string): Resource['internal'] => {
  const { previous, scale, ...rest } = trafficIn(record)
  if (revision !== previous) return remember(record, { scale: { ...scale, [revision]: 0 } })
  return { traffic: { ...rest, scale: { ...scale, [revision]: 0 } } }
}

export const settle =
  (face: Face, removeAfterMs: number): NonNullable<Workload['settle']> =>
  (record, instances, now) => {
    if (!isLive(record)) return {}
    const due = record.status === 'DEPLOYING' ? deploying(face, record, instances) : {}
    return due.step ? due : retiring(face, record, instances, { now, removeAfterMs })
  }

/** A revision that serves is tried again and again; another one is given up, and the one that serves goes on. */
export const abandon: NonNullable<Workload['abandon']> = (record, { revision }, reason): Step | undefined => {
  const { serving, previous, failed = [] } = trafficIn(record)
  if (revision === serving || revision === previous) return undefined
  const internal = remember(record, { failed: [...failed.filter(id => id !== revision), revision] })
  const revisions = revisionsIn(record, revision)
  if (isTarget(record, revision)) return { event: { name: 'broke', message: reason, revisions }, internal }
  return {
    event: { name: 'change', message: `revision ${revision} cannot be started: ${reason}`, revisions },
    internal,
  }
}

/** What the machines of a record are that serves calls: how many of which revision, when they are ready, and what they cost. */
import type { Settled, Started, StandbyRule, Step, Workload } from '../transitions/rules.ts'
import { isUp } from '../transitions/instance-life.ts'
import { trafficOf } from '../records/revisions.ts'
import { storageMbOf } from '../kinds/sandbox/stored.ts'
import type { Instance, Rate, Resource } from '../store/store.ts'
import { activeOf, specOfRevision, type ContentOf } from './content.ts'
import { workloadPlanner, type WorkloadPlanDeps } from './plan.ts'
import { readiness, type ReadinessDeps } from './readiness.ts'
import { canaryOf, isTarget, trafficIn, wantedBy, type Traffic } from './traffic.ts'

export interface WorkloadDeps extends WorkloadPlanDeps, ReadinessDeps {
  /** Idle time before a machine is suspended, ms. */
  readonly standbyAfterMs: number
  /** How long it is asleep before its memory is reclaimed, ms. */
  readonly reclaimAfterMs: number
}

/** How the machines of a kind differ. */
export interface WorkloadFace {
  readonly contentOf: ContentOf
  /** What a running machine is billed as, in GB-seconds of the memory it was given; one that sleeps costs nothing. */
  readonly dimension: string
}

const ratesOf =
  ({ dimension }: WorkloadFace): Workload['rates'] =>
  ({ status, memoryMb = 0 }): Rate[] =>
    status === 'running' ? [{ dimension, quantity: memoryMb / 1024 }] : []

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
const switched = (record: Resource): Step => {
  const target = activeOf(record)
  const { serving, scale = {} } = trafficIn(record)
  const before = serving === target ? undefined : serving
  const { [target]: _, ...others } = scale
  return {
    event: { name: 'deployed', message: 'deployed', revisions: revisionsIn(record, target) },
    internal: remember(record, { serving: target, ...(before ? { previous: before } : {}), scale: others }),
  }
}

const settle =
  (face: WorkloadFace): NonNullable<Workload['settle']> =>
  (record, instances): Settled => {
    if (record.status !== 'DEPLOYING') return {}
    const target = activeOf(record)
    const wanted = wantedBy(face.contentOf)(record).find(({ revision }) => revision === target)?.count ?? 0
    return upOf(instances, target) >= wanted ? { step: switched(record) } : {}
  }

/** A revision that serves is tried again and again; another one is given up, and the one that serves goes on. */
const abandon: NonNullable<Workload['abandon']> = (record, { revision }, reason): Step | undefined => {
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

/** Machines that are to be kept running do not sleep. */
const standbyOf = (
  record: Resource,
  { contentOf }: WorkloadFace,
  { standbyAfterMs: afterMs, reclaimAfterMs }: WorkloadDeps,
): StandbyRule | undefined =>
  contentOf(specOfRevision(record, activeOf(record))).minScale > 0 ? undefined : { afterMs, reclaimAfterMs }

export const workloadOf = (deps: WorkloadDeps, face: WorkloadFace): Workload => {
  const { contentOf } = face
  const untilReady = readiness(deps)
  return {
    wanted: wantedBy(contentOf),
    rates: ratesOf(face),
    plan: workloadPlanner(deps, contentOf),
    storageMb: ({ spec }) => storageMbOf(contentOf(spec)),
    image: ({ spec }) => contentOf(spec).image ?? '',
    standby: record => standbyOf(record, face, deps),
    ready: ({ owner, instance, address, signal }: Started) =>
      untilReady({ address, signal, port: contentOf(specOfRevision(owner, instance.revision)).port }),
    abandon,
    settle: settle(face),
  }
}

/** How calls are shared out between revisions: the part of each, of a hundred. */
export const sharesOf = (record: Resource): ReadonlyMap<string, number> => {
  const { serving } = trafficIn(record)
  if (!serving) return new Map()
  const canary = canaryOf(record)
  const { canaryPercent = 0 } = trafficOf(record.spec)
  if (!canary || canary === serving) return new Map([[serving, 100]])
  return new Map([
    [serving, 100 - canaryPercent],
    [canary, canaryPercent],
  ])
}

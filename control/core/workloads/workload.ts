/** What the machines of a record are that serves calls: how many of which revision, when they are ready, and what they cost. */
import type { Started, StandbyRule, Workload } from '../transitions/rules.ts'
import { storageMbOf } from '../kinds/sandbox/stored.ts'
import type { Instance, Rate, Resource } from '../store/store.ts'
import { specOfRevision, type ContentOf } from './content.ts'
import { workloadPlanner, type WorkloadPlanDeps } from './plan.ts'
import { readiness, type ReadinessDeps } from './readiness.ts'
import { abandon, settle } from './settle.ts'
import { trafficIn, wantedBy } from './traffic.ts'

export interface WorkloadDeps extends WorkloadPlanDeps, ReadinessDeps {
  /** Idle time before a machine is suspended, ms. */
  readonly standbyAfterMs: number
  /** How long it is asleep before its memory is reclaimed, ms. */
  readonly reclaimAfterMs: number
  /** How long it is asleep before it is removed, ms. */
  readonly removeAfterMs: number
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

/** Machines that are to be kept running do not sleep; those of a revision that served before do. */
const standbyOf = (
  [record, { revision }]: readonly [Resource, Instance],
  { contentOf }: WorkloadFace,
  { standbyAfterMs: afterMs, reclaimAfterMs }: WorkloadDeps,
): StandbyRule | undefined => {
  const isKept = contentOf(specOfRevision(record, revision)).minScale > 0
  return isKept && revision !== trafficIn(record).previous ? undefined : { afterMs, reclaimAfterMs }
}

export const workloadOf = (deps: WorkloadDeps, face: WorkloadFace): Workload => {
  const { contentOf } = face
  const untilReady = readiness(deps)
  return {
    wanted: wantedBy(contentOf),
    rates: ratesOf(face),
    plan: workloadPlanner(deps, contentOf),
    storageMb: ({ spec }) => storageMbOf(contentOf(spec)),
    image: ({ spec }) => contentOf(spec).image ?? '',
    standby: (record, instance) => standbyOf([record, instance], face, deps),
    ready: ({ owner, instance, address, signal }: Started) =>
      untilReady({ address, signal, port: contentOf(specOfRevision(owner, instance.revision)).port }),
    abandon,
    settle: settle(face, deps.removeAfterMs),
  }
}

/** What kinds have in common whose records are servers that are called by name. */
import { statuses, type Consequence, type Kind, type Spec } from '../records/kind.ts'
import { trafficOf } from '../records/revisions.ts'
import type { Resource } from '../store/store.ts'
import { activeOf, specOfRevision } from './content.ts'
import { servedLife } from './life.ts'
import { regionOf } from './plan.ts'
import { trafficIn, usedRevisions } from './traffic.ts'
import { laterBy, opensTo } from './triggers.ts'
import { workloadOf, type WorkloadDeps, type WorkloadFace } from './workload.ts'

const isEnabled = (spec: Spec): boolean => spec['enabled'] !== false

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** It serves nothing any more, and begins anew when it is enabled. */
const disabled = (record: Resource): Resource['internal'] => {
  const { serving: _, previous: _before, ...rest } = trafficIn(record)
  return { traffic: { ...rest, failed: [], scale: {} } }
}

/** A deployment that failed is tried anew, whatever else is changed. */
const retried = (record: Resource, revision: string): Resource['internal'] => {
  const traffic = trafficIn(record)
  return { traffic: { ...traffic, failed: (traffic.failed ?? []).filter(id => id !== revision) } }
}

const consequence = (before: Resource, spec: Spec): Consequence | undefined => {
  const wasEnabled = isEnabled(before.spec)
  if (wasEnabled && !isEnabled(spec)) return { event: 'disable', message: 'disabled', internal: disabled(before) }
  if (!wasEnabled && isEnabled(spec)) return { event: 'enable', message: 'enabled' }
  const active = trafficOf(spec).active ?? ''
  if (isEnabled(spec) && (active !== activeOf(before) || before.status === 'FAILED'))
    return { event: 'deploy', message: `revision ${active} is deployed`, internal: retried(before, active) }
  return isSame(before.spec, spec) ? undefined : { event: 'change', message: 'changed' }
}

export interface ServedFace extends WorkloadFace {
  /** How its addresses begin by host name: `{label}-{name}-{workspace}.…` */
  readonly label: string
  /** The scope that a credential with a list of scopes needs to call it. */
  readonly scope: string
  /** Whether anybody may call it, whatever its triggers say. */
  isPublic(spec: Spec): boolean
  /** What calls that are acknowledged at once are billed as; it takes none unless given. */
  readonly laterAs?: string
}

/** The members of a kind; without `deps` what its routes are declared from. */
export const served = (deps: WorkloadDeps | undefined, face: ServedFace) =>
  ({
    life: servedLife,
    statuses,
    initialStatus: (spec: Spec) => (isEnabled(spec) ? servedLife.initial : 'DEACTIVATED'),
    createdMessage: (spec: Spec) => (isEnabled(spec) ? 'created' : 'disabled'),
    consequence,
    revisions: { kept: 5, inUse: (record: Pick<Resource, 'internal'>) => usedRevisions(trafficIn(record)) },
    server: {
      label: face.label,
      scope: face.scope,
      region: record => regionOf(record, deps?.regions ?? ['local']),
      isPublic: (record, path) => face.isPublic(record.spec) || opensTo(record, path),
      ...(face.laterAs ? { later: laterBy(face.laterAs) } : {}),
      contentOf: (record, revision) => face.contentOf(specOfRevision(record, revision)),
    },
    ...(deps ? { workload: workloadOf(deps, face) } : {}),
  }) satisfies Partial<Kind>

/** The sandbox: a computer of one's own, made from an image, that sleeps when nobody uses it. */
import { fail } from '../../../../shared/errors.ts'
import { defineKind, type KindFace } from '../../records/define-kind.ts'
import { statuses, type Consequence, type Kind, type Spec } from '../../records/kind.ts'
import { namesFrom } from '../../records/naming.ts'
import type { Reference, Resource } from '../../store/store.ts'
import type { SnapshotService } from './snapshots/service.ts'
import { acceptSandbox, type AcceptDeps } from './accept.ts'
import { acceptFork } from './fork.ts'
import { expiryOf, retentionMs } from './expiry.ts'
import { sandboxLife } from './life.ts'
import { outboundOf } from './network/outbound.ts'
import { checkTunnel } from './network/tunnel.ts'
import { planner, type PlanDeps } from './plan.ts'
import { snapshotActions } from './snapshots/sandbox-actions.ts'
import { answers, presentSandbox, presentSpec, statusAt } from './present.ts'
import { restartAction } from './restart.ts'
import { sandboxSpec } from './spec.ts'
import { lostSandbox, storageMbOf, storedSandbox, type StoredSandbox } from './stored.ts'
import { redeployed, sandboxWorkload } from './workload.ts'
import { attachmentReferences } from '../../storage/volumes/attachments.ts'

/** What cannot change under a running machine. */
const baked = ({ runtime }: StoredSandbox): string =>
  JSON.stringify([runtime.image, runtime.memory, runtime.envs ?? [], runtime.entrypoint])

/** A machine that goes on keeps its disk, which does not get smaller. */
const checkStorage = (before: StoredSandbox, after: StoredSandbox): void => {
  const [had, wanted] = [storageMbOf(before.runtime), storageMbOf(after.runtime)]
  if (wanted >= had || baked(before) !== baked(after)) return
  const reason = `cannot become less than ${had}: a disk that is in use does not get smaller; create the sandbox anew`
  throw fail('invalid_argument', { field: 'spec.runtime.storageMb', reason })
}

const consequence = (previous: Resource, next: Spec): Consequence | undefined => {
  const before = storedSandbox(previous)
  const after = storedSandbox({ spec: next })
  if (before.enabled && !after.enabled) return { event: 'disable', message: 'disabled' }
  if (!before.enabled && after.enabled) return { event: 'enable', message: 'enabled' }
  if (baked(before) === baked(after) || !after.enabled) return undefined
  return {
    event: 'redeploy',
    message: 'deployed anew: image, memory, environment or entrypoint changed',
    internal: redeployed(previous),
  }
}

export interface SandboxDeps extends AcceptDeps, PlanDeps {
  readonly images: AcceptDeps['images'] & PlanDeps['images']
  readonly store: PlanDeps['store']
  /** Idle time before a sandbox is suspended, ms. */
  readonly standbyAfterMs: number
  /** The records of policies, as a spec names them. */
  namedPolicies(names: readonly string[]): Reference[]
  /** How long it is asleep before its memory is reclaimed, ms. */
  readonly reclaimAfterMs: number
  /** Saves files; absent where nothing does. */
  readonly snapshots?: (() => SnapshotService) | undefined
}

/** What its routes are declared from. */
export const sandboxFace = {
  kind: 'sandbox',
  plural: 'sandboxes',
  scope: 'sandboxes',
  spec: sandboxSpec,
  answers,
  life: sandboxLife,
  statuses,
  hiddenStatuses: ['TERMINATED'],
  dataPlane: { label: 'sbx', scope: 'sandboxes:control', region: record => storedSandbox(record).region },
  paginated: true,
  byExternalId: true,
  detailedErrors: true,
  names: namesFrom('sandbox'),
  createsIfMissing: true,
  showsSecrets: true,
  uploads: true,
  imageAt: ['runtime', 'image'],
  actions: [restartAction, ...snapshotActions()],
} as const satisfies KindFace

/** Makes the kind; the same for every host but for what it is given. */
export const sandboxKind = (deps: SandboxDeps): Kind =>
  defineKind({
    ...sandboxFace,
    actions: [restartAction, ...snapshotActions(deps.snapshots)],
    createErrors: ['invalid_image', 'image_refused', 'overloaded', 'draining', 'no_room', 'in_use', 'not_available'],
    example: {
      create: { metadata: { name: 'web' }, spec: { runtime: { memory: 1024, ttl: '2h' } } },
      update: { metadata: { labels: { team: 'a' } }, spec: { runtime: { ttl: '4h' } } },
    },
    initialStatus: spec => (storedSandbox({ spec }).enabled ? sandboxLife.initial : 'DEACTIVATED'),
    replaceableStatuses: ['TERMINATED', 'FAILED'],
    removal: 'reconciled',
    lostSpec: () => lostSandbox(deps.regions[0] as string),
    filterStatusOnEveryVersion: true,
    listsEvents: false,
    workload: sandboxWorkload({
      standbyAfterMs: deps.standbyAfterMs,
      reclaimAfterMs: deps.reclaimAfterMs,
      plan: planner(deps),
      outbound: outboundOf(deps.sealer),
    }),
    expiry: expiryOf,
    retentionMs,
    async accept(input, previous, { workspace, now }) {
      const before = previous && storedSandbox(previous)
      const after =
        !before && input?.fromSnapshot
          ? await acceptFork(input, { ...deps, workspace, now })
          : await acceptSandbox(input, before, { ...deps, workspace })
      if (before) checkStorage(before, after)
      checkTunnel(after, before, deps)
      return after as unknown as Spec
    },
    references(spec) {
      const { vpc, network, volumes, policies = [] } = storedSandbox({ spec })
      return [
        ...deps.networks.references(vpc, network?.egress?.gateway),
        ...attachmentReferences(volumes),
        ...deps.namedPolicies(policies),
      ]
    },
    consequence,
    statusAt,
    present: presentSandbox,
    presentSpec: (record, options) => presentSpec(record, options, deps.sealer),
  })

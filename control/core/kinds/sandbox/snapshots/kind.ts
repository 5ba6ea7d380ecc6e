/** A snapshot: the files of a sandbox at one moment, in a workspace. It outlives the sandbox. */
import { fail } from '../../../../../shared/errors.ts'
import { s } from '../../../../../shared/schema.ts'
import { stateTable } from '../../../transitions/state-table.ts'
import { defineKind } from '../../../records/define-kind.ts'
import type { Kind, Spec } from '../../../records/kind.ts'
import { namesFrom } from '../../../records/naming.ts'
import { storedSandbox } from '../stored.ts'
import { redeploysOf } from '../workload.ts'
import type { Store } from '../../../store/store.ts'
import { forkSnapshot } from './fork-action.ts'
import type { SnapshotService } from './service.ts'
import { storedSnapshot, type StoredSnapshot } from './stored.ts'
import { snapshotWire } from './wire.ts'

export interface SnapshotDeps {
  readonly store: Pick<Store, 'resources' | 'instances'>
  /** Makes them; absent where nothing does. */
  readonly snapshots?: (() => SnapshotService) | undefined
}

/** `made`: its files are on the disk. A delete is at once; the files go next. */
const life = stateTable('pending', {
  pending: { made: 'ready', broke: 'failed', delete: 'deleted' },
  ready: { change: 'ready', delete: 'deleted' },
  failed: { change: 'failed', delete: 'deleted' },
  deleted: { delete: 'deleted' },
})

const bytesPerGb = 2 ** 30

/** The spec of a new one, of a sandbox that is there and has files. */
const accept = async ({ store }: SnapshotDeps, workspace: string, spec: Spec): Promise<StoredSnapshot> => {
  const { source: name, mode } = spec as { source: string; mode: string }
  if (mode === 'memory') throw fail('not_available', { what: 'snapshots of memory: its sandboxes are saved as files' })
  const sandbox = await store.resources.get({ kind: 'sandbox', workspace, parent: '', name })
  if (!sandbox || sandbox.status === 'TERMINATED') throw fail('not_found', { kind: 'sandbox', name })
  const instance = (await store.instances.ofOwner(sandbox.uid)).find(one => one.status !== 'stopping' && one.startedAt)
  if (sandbox.status === 'DELETING' || !instance?.image)
    throw fail('not_running', { kind: 'sandbox', name, state: sandbox.status, reason: 'it has no files to save yet' })
  return {
    id: '',
    mode: 'files',
    source: { kind: 'sandbox', name, uid: sandbox.uid },
    sandbox: storedSandbox(sandbox),
    image: instance.image,
    generation: String(redeploysOf(sandbox) + 1),
  }
}

export const snapshotKind = (deps?: SnapshotDeps): Kind =>
  defineKind({
    kind: 'snapshot',
    plural: 'snapshots',
    scope: 'sandboxes',
    access: { create: { scope: 'sandboxes:update' } },
    verbs: ['list', 'create', 'get', 'delete'],
    names: namesFrom('snapshot'),
    spec: s.looseObject({}),
    wire: snapshotWire,
    life,
    statuses: ['pending', 'ready', 'failed'],
    listsEvents: false,
    paginated: true,
    removed: { status: 204 },
    createErrors: ['not_available', 'not_running', 'no_room', 'busy', 'driver_failed'],
    example: { create: { source: { name: 'web' } } },
    actions: [forkSnapshot],
    alias: record => storedSnapshot(record).id,
    claims: spec => [storedSnapshot({ spec }).id],
    rates: ({ spec, status }) =>
      status === 'ready'
        ? [{ dimension: 'sandbox_snapshot_storage_gbs', quantity: (storedSnapshot({ spec }).bytes ?? 0) / bytesPerGb }]
        : [],
    pins: ({ spec }) => [storedSnapshot({ spec }).image.digest],
    async accept(input, previous, { workspace }) {
      if (!deps?.snapshots) throw fail('not_available', { what: 'snapshots' })
      if (previous) return previous.spec
      return (await accept(deps, workspace, input as Spec)) as unknown as Spec
    },
    issue: (_draft, { ids }) => ({ spec: { id: `snap_${ids.short(16)}` } }),
    finish: async record => deps?.snapshots?.().cut(record.uid),
  })

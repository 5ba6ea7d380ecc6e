/** From an address to the record that is called. */
import { fail } from '../../../../shared/errors.ts'
import type { WorkloadAddress } from '../gateway/address.ts'
import type { Kind } from '../../../core/records/kind.ts'
import type { ServerPlane } from '../../../core/records/server-plane.ts'
import type { Resource, Store, Workspace } from '../../../core/store/store.ts'

export interface Called {
  readonly record: Resource
  readonly workspace: Workspace
  readonly server: ServerPlane
}

export interface FindDeps {
  readonly store: Pick<Store, 'resources' | 'tenants'>
  /** Every kind of this host, by its name. */
  readonly kinds: ReadonlyMap<string, Kind>
}

/** Throws `workspace_not_found` or `workload_not_found`. */
export const find = async (
  { store, kinds }: FindDeps,
  { kind, readings }: Pick<WorkloadAddress, 'kind' | 'readings'>,
): Promise<Called> => {
  const { server } = kinds.get(kind) ?? {}
  const tried = readings.map(({ name, workspace }) => `"${name}" in "${workspace}"`).join(' or ')
  let workspaceKnown = false
  for (const { name, workspace: wanted } of readings) {
    const workspace = await store.tenants.workspace(wanted)
    if (!workspace) continue
    workspaceKnown = true
    const record = await store.resources.get({ kind, workspace: workspace.name, parent: '', name })
    if (record && server) return { record, workspace, server }
  }
  if (!workspaceKnown) throw fail('workspace_not_found', { wanted: `${kind} ${tried}` })
  throw fail('workload_not_found', { kind, wanted: tried })
}

/** From an address to the workload it means. */
import { fail } from '../../../../shared/errors.ts'
import { isUp } from '../../../core/transitions/instance-life.ts'
import type { RulesByKind } from '../../../core/transitions/rules.ts'
import type { Instance, Owner, Resource, Store, Workspace } from '../../../core/store/store.ts'
import type { WorkloadAddress } from './address.ts'

export interface Resolved {
  readonly owner: Owner
  readonly workspace: Workspace
  /** A machine of it that is up, when there is one: then the record was not even read. */
  readonly instance?: Instance
}

/** The record of a workload. Throws `workload_not_found`. */
export type Records = (owner: Owner) => Promise<Resource>

export const recordsOf =
  ({ resources }: Pick<Store, 'resources'>): Records =>
  async owner => {
    const { kind, workspace, parent, name, uid } = owner
    const record = await resources.get({ kind, workspace, parent, name })
    if (record?.uid === uid) return record
    throw fail('workload_not_found', { kind, wanted: `"${name}" in "${workspace}"` })
  }

/** Throws `workspace_not_found` or `workload_not_found`. */
export type Resolve = (address: WorkloadAddress) => Promise<Resolved>

export const resolver = (deps: { store: Store; rules: RulesByKind }): Resolve => {
  const { store, rules } = deps

  const inWorkspace = async (kind: string, name: string, workspace: Workspace): Promise<Resolved | undefined> => {
    const key = { kind, workspace: workspace.name, parent: '', name }
    const instance = (await store.instances.ofKey(key)).find(isUp)
    if (instance) return { owner: instance.owner, workspace, instance }
    const record = await store.resources.get(key)
    const isOver = !record || (rules.get(kind)?.hiddenStatuses ?? []).includes(record.status)
    return isOver ? undefined : { owner: { ...key, uid: record.uid }, workspace }
  }

  return async ({ kind, readings }) => {
    let workspaceKnown = false
    for (const { name, workspace: wanted } of readings) {
      const workspace = await store.tenants.workspace(wanted)
      if (!workspace) continue
      workspaceKnown = true
      const found = await inWorkspace(kind, name, workspace)
      if (found) return found
    }
    const tried = readings.map(({ name, workspace }) => `"${name}" in "${workspace}"`).join(' or ')
    if (!workspaceKnown) throw fail('workspace_not_found', { wanted: `${kind} ${tried}` })
    throw fail('workload_not_found', { kind, wanted: tried })
  }
}

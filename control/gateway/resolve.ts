/** From an address to a sandbox whose daemon answers, and that stays awake while it is used. */
import type { Changes } from '../reconcile/changes.ts'
import { internalOf } from '../instances/record.ts'
import type { Standby } from '../instances/standby.ts'
import type { Resource, Store, Workspace } from '../store/store.ts'
import type { SandboxAddress } from './address.ts'
import { GatewayError } from './errors.ts'

/** A request is held this long for a sandbox that is still coming up. */
const patienceMs = 60_000

/** Where the daemon of a sandbox answers. */
export interface Upstream {
  readonly host: string
  readonly port: number
}

export interface Resolver {
  /** The record the address means; throws WORKSPACE_NOT_FOUND or WORKLOAD_NOT_FOUND. */
  find(address: SandboxAddress): Promise<{ row: Resource; workspace: Workspace }>
  /**
   * Waits until it is up, wakes it, and keeps it awake until `release`. `row` is its record when it was read for this
   * very call. Throws WORKLOAD_UNAVAILABLE.
   */
  hold(uid: string, signal: AbortSignal, row?: Resource): Promise<{ upstream: Upstream; release: () => void }>
}

export const resolver = (deps: {
  store: Store
  standby: Standby
  changes: Changes
  poke: (uid: string) => void
}): Resolver => {
  const { store, standby, changes, poke } = deps

  const readyAddress = async (uid: string, known?: Resource): Promise<Upstream | undefined> => {
    const row = known ?? (await store.resources.getByUid(uid))
    if (!row) throw new GatewayError('WORKLOAD_NOT_FOUND', 'the sandbox does not exist any more')
    if (row.status === 'DEPLOYED') return internalOf(row).address
    if (row.status !== 'DEPLOYING')
      throw new GatewayError('WORKLOAD_UNAVAILABLE', `sandbox "${row.name}" is ${row.status}${reasonOf(row)}`)
    poke(uid)
    return undefined
  }

  return {
    async find({ readings }) {
      let workspaceKnown = false
      for (const { name, workspace: wanted } of readings) {
        const workspace = await store.tenants.workspace(wanted)
        if (!workspace) continue
        workspaceKnown = true
        const row = await store.resources.get({ kind: 'sandbox', workspace: workspace.name, parent: '', name })
        if (row && row.status !== 'TERMINATED') return { row, workspace }
      }
      const tried = readings.map(({ name, workspace }) => `"${name}" in "${workspace}"`).join(' or ')
      if (!workspaceKnown)
        throw new GatewayError('WORKSPACE_NOT_FOUND', `no such workspace: looked for sandbox ${tried}`)
      throw new GatewayError('WORKLOAD_NOT_FOUND', `no such sandbox: looked for ${tried}`)
    },
    async hold(uid, signal, row) {
      const ready =
        (await readyAddress(uid, row)) ??
        (await changes.until(uid, () => readyAddress(uid), {
          what: 'waiting for the sandbox',
          boundMs: patienceMs,
          signal,
        }))
      const release = await standby.hold(uid)
      return { upstream: ready, release }
    },
  }
}

const reasonOf = (row: Resource): string => {
  const last = internalOf(row).errors?.at(-1)
  return last ? `: ${last.message}` : ''
}

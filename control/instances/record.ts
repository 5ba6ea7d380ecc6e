/** What the machinery remembers of a sandbox in `Resource.internal`, and the only code that changes its status. */
import type { Clock } from '../../shared/clock.ts'
import { isError } from '../../shared/errors.ts'
import { sandboxLife } from '../sandbox/life.ts'
import type { Change, Rate, Resource, Store } from '../store/store.ts'
import type { Changes } from '../reconcile/changes.ts'

export interface SandboxInternal {
  /** RUNNING or STANDBY while DEPLOYED. */
  readonly state?: 'RUNNING' | 'STANDBY'
  readonly address?: { readonly host: string; readonly port: number }
  /** What it runs, fixed at the first deployment so that a moved tag does not change a sandbox. */
  readonly image?: { readonly digest: string; readonly rootfs: string } | undefined
  /** The machine that runs is of an older spec and goes, files and all, before the new one comes. */
  readonly remake?: boolean
  /** Last resume or suspend, epoch ms; what idle expiry counts from. */
  readonly turnedAt?: number
  readonly lastUsedAt?: number
  readonly terminatedAt?: number
  /** Failed attempts of the deployment under way. */
  readonly attempts?: number
  /** Infrastructure errors, oldest first, the last twenty. */
  readonly errors?: readonly InfrastructureError[]
}

export interface InfrastructureError {
  readonly code: string
  readonly message: string
  readonly time: string
  readonly fatal: boolean
}

export type SandboxEvent =
  | 'deployed'
  | 'broke'
  | 'lost'
  | 'redeploy'
  | 'delete'
  | 'gone'
  | 'disable'
  | 'disabled'
  | 'enable'

export const internalOf = (row: Resource): SandboxInternal => row.internal as SandboxInternal

/** GB held, the quantity of both dimensions. */
const gb = (bytes: number) => bytes / 2 ** 30

/** What a running sandbox is metered for: the memory it was given. */
export const runningRates = (memoryMb: number): Rate[] => [
  { dimension: 'sandbox_compute_runtime_gbs', quantity: memoryMb / 1024 },
]

/** What a sleeping one is metered for: the memory its frozen processes hold. */
export const standbyRates = (heldBytes: number): Rate[] => [
  { dimension: 'sandbox_snapshot_storage_gbs', quantity: gb(heldBytes) },
]

export interface Records {
  /** Moves the sandbox by an event of its lifecycle and records it; returns the new row. */
  move(
    row: Resource,
    event: SandboxEvent,
    message: string,
    more?: { internal?: SandboxInternal; rates?: Rate[] },
  ): Promise<Resource>
  /** Changes what is remembered without a change of status. */
  note(row: Resource, internal: SandboxInternal, rates?: Rate[]): Promise<Resource>
}

export const records = (deps: { store: Store; clock: Clock; changes: Changes }): Records => {
  const { store, clock, changes } = deps
  const write = async (row: Resource, change: Change): Promise<Resource> => {
    const next = await store.resources.update(row.uid, row.version, change, clock.now())
    changes.changed(row.uid)
    return next
  }
  return {
    async move(row, event, message, more = {}) {
      const status = sandboxLife.next(row.status, event, { kind: 'sandbox', name: row.name })
      const time = clock.now()
      return write(row, {
        status,
        internal: { ...row.internal, ...more.internal },
        event: { time, type: 'deployment', status, message },
        ...(more.rates ? { rates: more.rates } : {}),
      })
    },
    async note(row, internal, rates) {
      return write(row, { internal: { ...row.internal, ...internal }, ...(rates ? { rates } : {}) })
    },
  }
}

/** Runs `step` on the newest row again when somebody else changed it meanwhile. */
export const onNewest = async <T>(
  store: Store,
  uid: string,
  step: (row: Resource) => Promise<T>,
): Promise<T | undefined> => {
  for (;;) {
    const row = await store.resources.getByUid(uid)
    if (!row) return undefined
    try {
      return await step(row)
    } catch (error) {
      if (!isError(error, 'changed_meanwhile')) throw error
    }
  }
}

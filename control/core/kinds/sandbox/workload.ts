/** What a sandbox's machine is to be and costs: it has one while it is to run. */
import { tidyAfterMs } from '../../../../shared/wire/system.ts'
import { durationMs } from '../../../../shared/durations.ts'
import type { MachinePlan, StandbyRule, Workload } from '../../transitions/rules.ts'
import { isMade, slotOf } from '../../transitions/slot.ts'
import type { Instance, Rate, Resource } from '../../store/store.ts'
import { storageMbOf, storedSandbox } from './stored.ts'

const bytesPerGb = 2 ** 30

/** One that was told to end and has time for it runs on, woken if it slept. */
const isEnding = ({ status, startedAt }: Instance, owner: Resource): boolean =>
  status === 'stopping' &&
  startedAt !== undefined &&
  (storedSandbox(owner).runtime.terminationGracePeriodSeconds ?? 0) > 0

/** A running one is metered for the memory it was given, a sleeping one for what its frozen processes hold. */
const rates = (instance: Instance, owner: Resource): Rate[] => {
  const { status, memoryMb = 0, heldBytes = 0 } = instance
  if (status === 'running' || isEnding(instance, owner))
    return [{ dimension: 'sandbox_compute_runtime_gbs', quantity: memoryMb / 1024 }]
  if (status === 'standby') return [{ dimension: 'sandbox_snapshot_storage_gbs', quantity: heldBytes / bytesPerGb }]
  return []
}

/** How often it was deployed anew. */
export const redeploysOf = ({ internal }: Resource): number => (internal as { redeploys?: number }).redeploys ?? 0

/** What the record remembers when it is deployed anew, so that the machine of before is none of its any more. */
export const redeployed = (record: Resource): { readonly redeploys: number } => ({ redeploys: redeploysOf(record) + 1 })

interface SandboxStandby {
  /** Idle time before a sandbox is suspended whose spec says nothing of it, ms. */
  readonly standbyAfterMs: number
  /** How long it is asleep before its memory is reclaimed, ms. */
  readonly reclaimAfterMs: number
}

/** What its spec says, or the host. */
const standbyOf = (owner: Resource, { standbyAfterMs, reclaimAfterMs }: SandboxStandby): StandbyRule | undefined => {
  const { after, cpuAware = false } = storedSandbox(owner).lifecycle?.standby ?? {}
  if (after === 'never') return undefined
  const afterMs = after ? durationMs(after, 'spec.lifecycle.standby.after') : standbyAfterMs
  return {
    afterMs,
    tidies: afterMs < tidyAfterMs,
    cpuAware,
    reclaimAfterMs,
  }
}

export const sandboxWorkload = (
  options: SandboxStandby & {
    readonly outbound: NonNullable<Workload['outbound']>
    readonly plan: (owner: Resource, instance: Instance) => Promise<MachinePlan>
  },
): Workload => ({
  wanted(owner) {
    const serves = isMade(owner.status) && slotOf(owner)?.serves === true
    return serves || owner.status === 'DEPLOYING' || owner.status === 'DEPLOYED'
      ? [{ revision: String(redeploysOf(owner)), count: 1 }]
      : []
  },
  rates,
  plan: options.plan,
  storageMb: owner => storageMbOf(storedSandbox(owner).runtime),
  image: owner => storedSandbox(owner).runtime.image,
  outbound: options.outbound,
  graceMs: owner => (storedSandbox(owner).runtime.terminationGracePeriodSeconds ?? 0) * 1_000,
  standby: owner => standbyOf(owner, options),
})

/** What is shared by all that is done with the files of sandboxes. */
import type { Clock } from '../../../../../shared/clock.ts'
import { fail } from '../../../../../shared/errors.ts'
import type { Ids } from '../../../../../shared/ids.ts'
import type { Log } from '../../../../../shared/log.ts'
import type { Drivers } from '../../../../drivers/drivers.ts'
import type { Snapshotter } from '../../../../drivers/snapshotter.ts'
import type { Standby } from '../../../machines/standby/standby.ts'
import type { Changes } from '../../../transitions/changes.ts'
import type { Transition } from '../../../transitions/transition.ts'
import type { Instance, Resource, Store } from '../../../store/store.ts'

export interface ServiceDeps {
  readonly store: Store
  readonly drivers: Drivers
  readonly transition: Transition
  readonly changes: Changes
  readonly still: Standby['still']
  readonly poke: (kind: string, uid: string) => void
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
}

export interface Context extends ServiceDeps {
  /** Ids of files that are being made, and are nobody's yet. */
  readonly underWay: Set<string>
  readonly snapshotterOf: (instance: Pick<Instance, 'driver'>) => Snapshotter
}

/** The machine whose files are a sandbox's. */
export const machineOf = async ({ store }: Pick<ServiceDeps, 'store'>, owner: Resource): Promise<Instance> => {
  const found = (await store.instances.ofOwner(owner.uid)).find(one => one.status !== 'stopping' && one.startedAt)
  if (found) return found
  const { name, status: state } = owner
  throw fail('not_running', { kind: 'sandbox', name, state, reason: 'it has no files yet' })
}

/** Whether a record is gone, or on its way out. */
export const isOver = (record: Resource | undefined): boolean =>
  !record || ['DELETING', 'TERMINATED'].includes(record.status)

/** A machine whose server has ended is started again: its daemon is well, and nothing else would notice. */
import { isError } from '../../../shared/errors.ts'
import type { Log } from '../../../shared/log.ts'
import type { Transition } from '../transitions/transition.ts'
import { instanceLife } from '../transitions/instance-life.ts'
import type { Instance, Store } from '../store/store.ts'

export interface HealDeps {
  readonly store: Pick<Store, 'instances'>
  readonly transition: Pick<Transition, 'write'>
  readonly poke: (kind: string, uid: string) => void
  readonly log: Log
}

/** Told of a machine whose port refused a call. */
export type Heal = (instance: Instance) => Promise<void>

export const healer =
  ({ store, transition, poke, log }: HealDeps): Heal =>
  async ({ id, startedAt }) => {
    const instance = await store.instances.get(id)
    // Another call has said so already, or it was started anew since.
    if (!instance || instance.startedAt !== startedAt || !instanceLife.allows(instance.status, 'restart')) return
    try {
      await transition.write([{ instance, event: 'restart' }])
    } catch (error) {
      if (!isError(error, 'changed_meanwhile')) throw error
      return
    }
    log.warn('workload.server-ended', { instance: id, owner: instance.owner.uid, name: instance.owner.name })
    poke(instance.owner.kind, instance.owner.uid)
  }

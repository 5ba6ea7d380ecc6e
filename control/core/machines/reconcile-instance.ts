/** Brings one instance's machine to what its row says, a step at a time. */
import type { Reconcile } from '../transitions/loop.ts'
import { onNewest } from '../transitions/transition.ts'
import { unwantedOf } from '../transitions/unwanted.ts'
import type { Instance, Resource } from '../store/store.ts'
import type { Context } from './context.ts'
import { end } from './end.ts'
import { start, type Attempts } from './start.ts'
import { stop } from './stop.ts'
import { watch } from './watch.ts'

/** The rules of its owner's kind, while the owner is there and wants it. */
const wantedBy = async ({ store, rules }: Context, owner: Resource | undefined, instance: Instance) => {
  const workload = owner && rules.get(owner.kind)?.workload
  if (!owner || !workload) return undefined
  const unwanted = unwantedOf(owner, await store.instances.ofOwner(owner.uid), workload)
  return unwanted.some(({ id }) => id === instance.id) ? undefined : { owner, workload }
}

export const reconcileInstance =
  (context: Context): Reconcile =>
  (id, signal, leave) => {
    const attempts: Attempts = {}
    const place = { signal, leave }
    return onNewest(async () => {
      const { store, drivers, transition } = context
      const instance = await store.instances.get(id)
      if (!instance) return undefined
      const driver = drivers.need(instance.driver)
      if (instance.status === 'stopping') return stop(context, { instance, driver }, place)
      const wanted = await wantedBy(context, await store.resources.getByUid(instance.owner.uid), instance)
      if (!wanted) {
        await transition.write([{ instance, event: 'stop' }])
        return { againMs: 0 }
      }
      const subject = { instance, driver, ...wanted }
      if (instance.status === 'restarting') return end(context, subject, place)
      if (instance.status !== 'starting') return watch(context, subject)
      return start(context, subject, { ...place, attempts })
    })
  }

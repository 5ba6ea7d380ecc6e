/** Has a record have as many machines of a revision as its calls need. */
import type { Transition } from '../transitions/transition.ts'
import { onNewest } from '../transitions/transition.ts'
import type { Store } from '../store/store.ts'
import { trafficIn } from './traffic.ts'

export interface ScaleDeps {
  readonly store: Pick<Store, 'resources'>
  readonly transition: Pick<Transition, 'write'>
  readonly poke: (kind: string, uid: string) => void
}

export interface Scaler {
  /** From now on the revision has so many machines, more or less than before. */
  set(uid: string, revision: string, count: number): Promise<void>
}

export const createScaler = ({ store, transition, poke }: ScaleDeps): Scaler => ({
  set: (uid, revision, count) =>
    onNewest(async () => {
      const record = await store.resources.getByUid(uid)
      if (!record) return
      const traffic = trafficIn(record)
      if ((traffic.scale?.[revision] ?? 1) === count) return
      const scale = { ...traffic.scale, [revision]: count }
      await transition.write([{ record, change: { internal: { ...record.internal, traffic: { ...traffic, scale } } } }])
      poke(record.kind, uid)
    }),
})

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
  /** From now on the revision has so many machines, if it had another number. */
  set(uid: string, revision: string, count: number): Promise<void>
  /** The same, if it had fewer. */
  atLeast(uid: string, revision: string, count: number): Promise<void>
}

export const createScaler = ({ store, transition, poke }: ScaleDeps): Scaler => {
  const change = (uid: string, revision: string, next: (count: number) => number): Promise<void> =>
    onNewest(async () => {
      const record = await store.resources.getByUid(uid)
      if (!record) return
      const traffic = trafficIn(record)
      const before = traffic.scale?.[revision] ?? 1
      const count = next(before)
      if (before === count) return
      const scale = { ...traffic.scale, [revision]: count }
      await transition.write([{ record, change: { internal: { ...record.internal, traffic: { ...traffic, scale } } } }])
      poke(record.kind, uid)
    })
  return {
    set: (uid, revision, count) => change(uid, revision, () => count),
    atLeast: (uid, revision, count) => change(uid, revision, before => Math.max(before, count)),
  }
}

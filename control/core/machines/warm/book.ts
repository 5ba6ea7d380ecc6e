/** The machines of all pools as they are, kept by what is written. */
import { isDeepStrictEqual } from 'node:util'
import { ownEnvironment } from '../../../../shared/guarded-env.ts'
import type { MachinePlan } from '../../transitions/rules.ts'
import type { Instance, Written } from '../../store/store.ts'
import { anyImage } from './pool.ts'
import { poolKind } from './pool-kind.ts'

export interface Book {
  /** True when something of a pool has changed. */
  written(written: Pick<Written, 'instances'>): boolean
  /** Of one pool. */
  of(uid: string): readonly Instance[]
  /** Those that begin just now, of all pools. */
  readonly beginning: number
  /**
   * Takes up to `count` that can become what the plan says, those of its image first, and generic ones `mostGeneric` at most; nobody else gets
   * them until `giveBack`.
   */
  pick(plan: MachinePlan, count: number, mostGeneric: number): readonly Instance[]
  giveBack(machines: readonly Instance[]): void
}

export interface BookOptions {
  /** The driver of all machines that can be given. */
  readonly driver: string
  readonly ownEnvironment: Readonly<Record<string, string>>
  /** What a machine may be promised of the disk when it is given away, MB. */
  readonly mostStorageMb: number
}

export const isGeneric = ({ image }: Instance): boolean => image?.digest === anyImage

export const createBook = (options: BookOptions): Book => {
  const machines = new Map<string, Instance>()
  const reserved = new Set<string>()

  const fits = ({ id, status, driver }: Instance, plan: MachinePlan): boolean =>
    // One that is awake may be falling asleep at this moment.
    status === 'standby' &&
    driver === options.driver &&
    !reserved.has(id) &&
    (plan.spec.storageMb ?? 0) <= options.mostStorageMb &&
    isDeepStrictEqual(ownEnvironment(plan.spec.env), options.ownEnvironment)

  return {
    written({ instances }) {
      let changed = false
      for (const instance of instances) {
        if (instance.owner.kind === poolKind && instance.status !== 'stopping') machines.set(instance.id, instance)
        else if (!machines.delete(instance.id)) continue
        changed = true
      }
      return changed
    },
    of: uid => [...machines.values()].filter(({ owner }) => owner.uid === uid),
    get beginning() {
      return [...machines.values()].filter(({ status, attempts }) => status === 'starting' && attempts === 0).length
    },
    pick(plan, count, mostGeneric) {
      const found: Instance[] = []
      const isOfImage = ({ image }: Instance): boolean => isDeepStrictEqual(image, plan.image)
      const take = (suits: (machine: Instance) => boolean, most: number): void => {
        for (const machine of machines.values()) {
          if (found.length >= most) break
          if (suits(machine) && fits(machine, plan)) found.push(machine)
        }
      }
      take(isOfImage, count)
      take(isGeneric, Math.min(count, found.length + mostGeneric))
      for (const { id } of found) reserved.add(id)
      return found
    },
    giveBack(given) {
      for (const { id } of given) reserved.delete(id)
    },
  }
}

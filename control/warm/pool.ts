/**
 * A pool: a record of nobody's workspace that has as many machines of one image as it should keep, booted, asleep and without a
 * name. To everything else it is a record with machines like any other.
 */
import type { Image, Images } from '../images/images.ts'
import type { Rules } from '../reconcile/rules.ts'
import type { Resource } from '../store/store.ts'

export const poolKind = 'warm-pool'
/** No workspace has this name. */
export const nobody = ''

export interface PoolSpec {
  readonly size: number
  /** What its machines are made of and cannot change: another one, other machines. */
  readonly made: string
}

export const specOf = ({ spec }: Pick<Resource, 'spec'>): PoolSpec => spec as unknown as PoolSpec

/** A machine's size until it is somebody's: it is made beside those that somebody waits for, and yields to them. */
const small = { memoryMb: 1024, cpus: 0.25, storageMb: 16 } as const

export interface PoolDeps {
  readonly images: Pick<Images, 'resolve'>
  /** The daemon's own variables, which it cannot be told later. */
  readonly ownEnvironment: Readonly<Record<string, string>>
  /** What those who are given its machines would tell them anyway: the less is told, the sooner it is done. */
  readonly environmentOf: (image: Image) => Readonly<Record<string, string>>
  /** How many machines the pool may begin to make just now. */
  readonly mayMake: (owner: Resource) => number
}

export const poolRules = ({ images, ownEnvironment, environmentOf, mayMake }: PoolDeps): Rules => ({
  kind: poolKind,
  hiddenStatuses: [],
  workload: {
    instances: owner => specOf(owner).size,
    mayMake,
    revision: owner => specOf(owner).made,
    rates: () => [],
    async plan(owner, instance) {
      const image = await images.resolve(owner.name)
      const { digest, rootfs } = instance.image ?? image
      return {
        image: { digest, rootfs },
        spec: {
          ...small,
          id: instance.id,
          rootfs,
          hostname: 'nobody',
          workdir: image.workdir || '/',
          env: { ...environmentOf(image), ...ownEnvironment },
          anonymous: true,
        },
      }
    },
    standby: () => ({ afterMs: 0 }),
  },
})

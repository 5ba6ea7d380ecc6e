/**
 * A pool: a record of nobody's workspace that has as many machines of one image as it should keep, booted, asleep and without a
 * name. To everything else it is a record with machines like any other.
 */
import { poolKind } from './pool-kind.ts'
import type { Image, Images } from '../../images/images.ts'
import type { MachinePlan, Rules } from '../../transitions/rules.ts'
import type { Instance, Resource } from '../../store/store.ts'

/** The name of the pool whose machines are generic: they become ones of any image when they are claimed. */
export const anyImage = '*'
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

/** What most sandboxes of an image are told. */
export type EnvironmentOf = (image: Pick<Image, 'env' | 'user' | 'workdir'>) => Readonly<Record<string, string>>

/** What a generic machine is told: what images say is told later. */
const noImage = { env: {}, user: '', workdir: '/' }

export interface PoolDeps {
  readonly images: Pick<Images, 'resolve'>
  /** What generic machines are made with; undefined where there are none. */
  readonly genericRoot: string | undefined
  /** The daemon's own variables, which it cannot be told later. */
  readonly ownEnvironment: Readonly<Record<string, string>>
  /** What those who are given its machines would tell them anyway: the less is told, the sooner it is done. */
  readonly environmentOf: EnvironmentOf
  /** How many machines the pool may begin to make just now. */
  readonly mayMake: (owner: Resource) => number
}

type Made = Pick<MachinePlan, 'image'> & { readonly spec: Pick<MachinePlan['spec'], 'workdir' | 'env'> }

const madeOf = async (deps: PoolDeps, { name }: Resource, instance: Instance): Promise<Made> => {
  const { images, genericRoot, environmentOf } = deps
  if (name === anyImage)
    return {
      // Where there are none there is no such pool (wanted.ts).
      image: { digest: anyImage, rootfs: genericRoot ?? '' },
      spec: { workdir: noImage.workdir, env: environmentOf(noImage) },
    }
  const image = await images.resolve(name)
  const { digest, rootfs } = instance.image ?? image
  return { image: { digest, rootfs }, spec: { workdir: image.workdir || '/', env: environmentOf(image) } }
}

export const poolRules = (deps: PoolDeps): Rules => ({
  kind: poolKind,
  hiddenStatuses: [],
  workload: {
    wanted: owner => [{ revision: specOf(owner).made, count: specOf(owner).size }],
    mayMake: deps.mayMake,
    rates: () => [],
    async plan(owner, instance) {
      const { image, spec } = await madeOf(deps, owner, instance)
      const { rootfs } = image
      const env = { ...spec.env, ...deps.ownEnvironment }
      return { image, spec: { ...small, ...spec, env, id: instance.id, rootfs, hostname: 'nobody', anonymous: true } }
    },
    standby: () => ({ afterMs: 0 }),
  },
})

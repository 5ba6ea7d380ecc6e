/** Which pools there should be: by configuration, and by what was asked for lately. */
import { createHash } from 'node:crypto'
import { messageOf } from '../../../../shared/errors.ts'
import type { Image, Images } from '../../images/images.ts'
import { shareOf, type Demand } from './demand.ts'
import { anyImage, type PoolSpec } from './pool.ts'

export interface WantedPool {
  /** As configured, or as the image is called. */
  readonly image: string
  readonly configured: number
  readonly demanded: number
  /** Undefined when there is no such image; `problem` says why then. */
  readonly spec: PoolSpec | undefined
  readonly problem?: string
}

export interface WantedDeps {
  readonly images: Pick<Images, 'resolve' | 'list'>
  readonly sizes: Readonly<Record<string, number>>
  /** Machines for what was asked for lately, at most. */
  readonly mostDemanded: number
  readonly demand: Pick<Demand, 'lately'>
  /** What generic machines are made with; undefined where there are none. */
  readonly genericRoot: string | undefined
  /** What all machines are made of beside their image. */
  readonly made: readonly string[]
}

const stampOf = (image: Pick<Image, 'digest' | 'rootfs'>, made: readonly string[]): string =>
  createHash('sha256')
    .update(JSON.stringify([image.digest, image.rootfs, ...made]))
    .digest('hex')
    .slice(0, 16)

/** The pool of generic machines, for any image that has no pool, or too small a one. */
const genericPool = ({ genericRoot, made }: WantedDeps, configured: number): WantedPool => {
  const pool = { image: anyImage, configured, demanded: 0 }
  return genericRoot === undefined
    ? {
        ...pool,
        spec: undefined,
        problem:
          'this driver makes no machines for any image: that takes runc or crun, and a data directory that carries an overlay',
      }
    : { ...pool, spec: { size: configured, made: stampOf({ digest: anyImage, rootfs: genericRoot }, made) } }
}

/** Looks at the images as they are now: a pool of one that has moved is made anew. */
export const wantedPools = async (deps: WantedDeps): Promise<WantedPool[]> => {
  const { images, sizes, mostDemanded, demand, made } = deps
  const shares = mostDemanded > 0 ? shareOf(demand.lately(), mostDemanded) : new Map<string, number>()
  const listed = shares.size > 0 ? await images.list() : []
  const pools = new Map<string, WantedPool>()
  for (const [image, configured] of Object.entries(sizes)) {
    if (image === anyImage) {
      pools.set(anyImage, genericPool(deps, configured))
      continue
    }
    try {
      const found = await images.resolve(image)
      const demanded = shares.get(found.digest) ?? 0
      const spec = { size: Math.max(configured, demanded), made: stampOf(found, made) }
      pools.set(found.digest, { image, configured, demanded, spec })
    } catch (error) {
      pools.set(image, { image, configured, demanded: 0, spec: undefined, problem: messageOf(error) })
    }
  }
  for (const [digest, demanded] of shares) {
    const found = listed.find(one => one.digest === digest)
    if (pools.has(digest) || !found) continue
    const spec = { size: demanded, made: stampOf(found, made) }
    pools.set(digest, { image: found.name, configured: 0, demanded, spec })
  }
  return [...pools.values()]
}

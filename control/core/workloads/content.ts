/** What a revision of a workload is made of, whichever kind it is of. */
import type { Spec } from '../records/kind.ts'
import { revisionsOf, trafficOf } from '../records/revisions.ts'
import type { StoredEnv } from '../records/sealing.ts'
import type { Resource } from '../store/store.ts'

export interface Content {
  /** Undefined until it is built. */
  readonly image: string | undefined
  /** A shell line, or a program with its arguments; the image's own command unless given. */
  readonly entrypoint: string | readonly string[] | undefined
  /** MB. */
  readonly memory: number
  readonly envs: readonly StoredEnv[]
  /** Where its server listens. */
  readonly port: number
  /** Machines that are kept running, and machines at most. */
  readonly minScale: number
  readonly maxScale: number
  /** Calls that one machine is given at once. */
  readonly concurrency: number
}

/** How a kind's specs say it. */
export type ContentOf = (spec: Spec) => Content

const fallback = { memory: 2048, port: 80, minScale: 0, maxScale: 10, concurrency: 10 } as const

interface Runtime {
  readonly image?: string | null
  readonly entrypoint?: Content['entrypoint'] | null
  readonly memory?: number | null
  readonly envs?: readonly StoredEnv[] | null
  readonly port?: number | null
  readonly ports?: readonly { readonly target: number }[] | null
  readonly minScale?: number | null
  readonly maxScale?: number | null
  readonly concurrency?: number | null
}

/** The port that the variable `PORT` of the spec names. */
const ownPort = (envs: readonly StoredEnv[]): number | undefined => {
  const given = envs.findLast(({ name }) => name === 'PORT')
  const port = given && 'value' in given && /^\d{1,5}$/.test(given.value) ? Number(given.value) : 0
  return port >= 1 && port <= 65_535 ? port : undefined
}

const contentOf = (runtime: Runtime): Content => {
  const envs = runtime.envs ?? []
  const minScale = runtime.minScale ?? fallback.minScale
  return {
    image: runtime.image || undefined,
    entrypoint: runtime.entrypoint ?? undefined,
    memory: runtime.memory ?? fallback.memory,
    envs,
    port: ownPort(envs) ?? runtime.port ?? runtime.ports?.[0]?.target ?? fallback.port,
    minScale,
    maxScale: Math.max(1, minScale, runtime.maxScale ?? fallback.maxScale),
    concurrency: runtime.concurrency ?? fallback.concurrency,
  }
}

/** Specs with a member `runtime`. */
export const runtimeContent: ContentOf = spec => contentOf((spec['runtime'] ?? {}) as Runtime)

/** Specs that say it themselves. */
export const plainContent: ContentOf = spec => contentOf(spec as Runtime)

/** Id of the revision that is to be deployed. */
export const activeOf = ({ spec }: Pick<Resource, 'spec'>): string => trafficOf(spec).active ?? ''

/** The spec of a revision, or of the record where that is not kept any more. */
export const specOfRevision = (record: Pick<Resource, 'spec' | 'internal'>, revision: string): Spec =>
  revisionsOf(record).all.find(({ id }) => id === revision)?.spec ?? record.spec

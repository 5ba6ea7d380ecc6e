/** The spec of a sandbox as it is stored: complete, with its secrets sealed. */
import type { StoredEnv } from '../../records/sealing.ts'
import type { Sealer } from '../../secrets/secrets.ts'
import type { Resource } from '../../store/store.ts'
import type { Attachment } from '../../storage/volumes/attachments.ts'
import type { StoredOrigin } from './snapshots/stored.ts'
import type { AcceptedNetwork } from './network/accept.ts'

export interface StoredPort {
  readonly target: number
  readonly name?: string
  readonly protocol?: string
}

export interface StoredRuntime {
  readonly image: string
  readonly memory: number
  /** What it may write, MB; half of its memory unless given. */
  readonly storageMb?: number
  /** `true` for the image's own; absent for none. */
  readonly entrypoint?: true | readonly string[]
  readonly envs?: readonly StoredEnv[]
  readonly ports?: readonly StoredPort[]
  readonly expires?: string
  readonly extraArgs?: Readonly<Record<string, string>>
  readonly terminationGracePeriodSeconds?: number
  readonly ttl?: string
}

export interface StoredSandbox extends AcceptedNetwork {
  readonly enabled: boolean
  readonly region: string
  readonly vpc?: string
  readonly policies?: readonly string[]
  readonly lifecycle?: {
    readonly expirationPolicies?: readonly { readonly type: string; readonly value: string; readonly action: string }[]
    readonly terminatedRetention?: string
    readonly standby?: { readonly after?: string; readonly cpuAware?: boolean }
  }
  readonly volumes?: readonly Attachment[]
  readonly runtime: StoredRuntime
  /** Whose files it began with, where it is a fork. */
  readonly from?: StoredOrigin
}

/** The smallest that a machine has a file system in. */
const leastStorageMb = 32

/** What one is taken for whose spec cannot be read: it has nothing, and is only to be deleted. */
export const lostSandbox = (region: string): Resource['spec'] => ({
  enabled: false,
  region,
  runtime: { image: '', memory: 0 },
})

/** What the sandbox may write, MB. */
export const storageMbOf = ({ memory, storageMb }: Pick<StoredRuntime, 'memory' | 'storageMb'>): number =>
  Math.max(leastStorageMb, storageMb ?? Math.floor(memory / 2))

export const storedSandbox = (resource: Pick<Resource, 'spec'>): StoredSandbox =>
  resource.spec as unknown as StoredSandbox

/** The variables a sandbox is started with, secrets opened; the last of a name wins. */
export const environmentOf = (resource: Pick<Resource, 'spec'>, sealer: Sealer): Record<string, string> =>
  Object.fromEntries(
    (storedSandbox(resource).runtime.envs ?? []).map(env => [
      env.name,
      'sealed' in env ? sealer.open(env.sealed) : env.value,
    ]),
  )

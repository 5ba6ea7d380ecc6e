/** The spec of a sandbox as it is stored: complete, with its secrets sealed. */
import type { StoredEnv } from '../resources/sealing.ts'
import type { Sealer } from '../secrets.ts'
import type { Resource } from '../store/store.ts'

export interface StoredPort {
  readonly target: number
  readonly name?: string
  readonly protocol?: string
}

export interface StoredRuntime {
  readonly image: string
  readonly memory: number
  readonly envs?: readonly StoredEnv[]
  readonly ports?: readonly StoredPort[]
  readonly expires?: string
  readonly extraArgs?: Readonly<Record<string, string>>
  readonly terminationGracePeriodSeconds?: number
  readonly ttl?: string
}

export interface StoredRoute {
  readonly destinations?: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Readonly<Record<string, string>>
  /** Secret name → sealed value. */
  readonly secrets?: Readonly<Record<string, string>>
}

export interface StoredNetwork {
  readonly proxy?: { readonly routing?: readonly StoredRoute[]; readonly [more: string]: unknown }
  readonly [more: string]: unknown
}

export interface StoredSandbox {
  readonly enabled: boolean
  readonly region: string
  readonly vpc?: string
  readonly lifecycle?: {
    readonly expirationPolicies?: readonly { readonly type: string; readonly value: string; readonly action: string }[]
    readonly terminatedRetention?: string
  }
  readonly runtime: StoredRuntime
  readonly network?: StoredNetwork
}

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

/** The proxy rules of a sandbox with their secrets opened; for the egress proxy on the host only. */
export const routingOf = (resource: Pick<Resource, 'spec'>, sealer: Sealer): StoredRoute[] =>
  (storedSandbox(resource).network?.proxy?.routing ?? []).map(({ secrets, ...route }) => ({
    ...route,
    ...(secrets
      ? { secrets: Object.fromEntries(Object.entries(secrets).map(([name, sealed]) => [name, sealer.open(sealed)])) }
      : {}),
  }))

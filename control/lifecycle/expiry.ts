/** When a sandbox ends by itself. Rules combine: the first that is reached wins. */
import { durationMs } from '../../shared/durations.ts'
import type { Resource } from '../store/store.ts'

interface Rules {
  readonly runtime?: { readonly ttl?: string; readonly expires?: string }
  readonly lifecycle?: {
    readonly expirationPolicies?: readonly { readonly type: string; readonly value: string }[]
    readonly terminatedRetention?: string
  }
}

const defaultRetention = '5m'

/** Longest time a TERMINATED record is kept. */
const maxRetentionMs = 7 * 24 * 3_600_000

/**
 * Epoch milliseconds at which the sandbox ends, or undefined when no rule applies. Idle time runs from
 * `internal.transitionAt`, the last resume or suspend, and from the creation before there was one.
 */
export const expiryOf = (resource: Pick<Resource, 'spec' | 'internal' | 'createdAt'>): number | undefined => {
  const { runtime, lifecycle } = resource.spec as Rules
  const moved = resource.internal['transitionAt']
  const idleFrom = typeof moved === 'number' ? moved : resource.createdAt
  const ends: number[] = []
  if (runtime?.ttl) ends.push(resource.createdAt + durationMs(runtime.ttl, 'spec.runtime.ttl'))
  if (runtime?.expires) ends.push(Date.parse(runtime.expires))
  for (const { type, value } of lifecycle?.expirationPolicies ?? []) {
    if (type === 'date') ends.push(Date.parse(value))
    else ends.push((type === 'ttl-idle' ? idleFrom : resource.createdAt) + durationMs(value, 'value'))
  }
  return ends.length > 0 ? Math.min(...ends) : undefined
}

/** How long the record of a terminated sandbox stays readable, in ms. */
export const retentionOf = (resource: Pick<Resource, 'spec'>): number => {
  const { lifecycle } = resource.spec as Rules
  return Math.min(durationMs(lifecycle?.terminatedRetention || defaultRetention, 'terminatedRetention'), maxRetentionMs)
}

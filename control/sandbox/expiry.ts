import { durationMs } from '../../shared/durations.ts'
import type { Resource } from '../store/store.ts'
import { internalOf } from '../instances/record.ts'

export interface Expiry {
  /** Epoch ms. */
  readonly at: number
  readonly rule: string
}

interface Policy {
  readonly type: string
  readonly value: string
}

interface LifetimeSpec {
  readonly runtime?: { readonly ttl?: string | null; readonly expires?: string | null }
  readonly lifecycle?: { readonly expirationPolicies?: readonly Policy[]; readonly terminatedRetention?: string } | null
}

const ofPolicy = ({ type, value }: Policy, row: Resource): Expiry | undefined => {
  switch (type) {
    case 'ttl-max-age':
      return { at: row.createdAt + durationMs(value, 'value'), rule: `ttl-max-age ${value}` }
    case 'ttl-idle':
      // Counted from the last resume or suspend only: activity in between does not refresh it.
      return { at: (internalOf(row).turnedAt ?? row.createdAt) + durationMs(value, 'value'), rule: `ttl-idle ${value}` }
    case 'date':
      return { at: Date.parse(value), rule: `date ${value}` }
    default:
      return undefined
  }
}

/** When the sandbox ends by its rules, and by which; the first one reached wins. Undefined means never. */
export const expiryOf = (row: Resource): Expiry | undefined => {
  const { runtime, lifecycle } = row.spec as LifetimeSpec
  const rules: Expiry[] = []
  if (runtime?.ttl)
    rules.push({ at: row.createdAt + durationMs(runtime.ttl, 'spec.runtime.ttl'), rule: `ttl ${runtime.ttl}` })
  if (runtime?.expires) rules.push({ at: Date.parse(runtime.expires), rule: `expires ${runtime.expires}` })
  for (const policy of lifecycle?.expirationPolicies ?? []) {
    const expiry = ofPolicy(policy, row)
    if (expiry) rules.push(expiry)
  }
  return rules.reduce<Expiry | undefined>((first, rule) => (!first || rule.at < first.at ? rule : first), undefined)
}

/** How long a terminated record stays readable, ms. */
export const retentionMs = (row: Resource): number =>
  durationMs((row.spec as LifetimeSpec).lifecycle?.terminatedRetention || '5m', 'spec.lifecycle.terminatedRetention')

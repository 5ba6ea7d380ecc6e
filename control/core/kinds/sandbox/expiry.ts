import { durationMs } from '../../../../shared/durations.ts'
import { historyOf } from '../../machines/history.ts'
import type { Expiry } from '../../transitions/rules.ts'
import type { Instance, Resource } from '../../store/store.ts'
import { storedSandbox } from './stored.ts'

interface Policy {
  readonly type: string
  readonly value: string
}

const ofPolicy = ({ type, value }: Policy, record: Resource, instances: readonly Instance[]): Expiry | undefined => {
  const afterMs = () => durationMs(value, 'value')
  switch (type) {
    case 'ttl-max-age':
      return { at: record.createdAt + afterMs(), rule: `ttl-max-age ${value}` }
    case 'ttl-idle':
      // Counted from the last resume or suspend only: activity in between does not refresh it.
      return {
        at: (historyOf(record, instances).turnedAt ?? record.createdAt) + afterMs(),
        rule: `ttl-idle ${value}`,
      }
    case 'date':
      return { at: Date.parse(value), rule: `date ${value}` }
    default:
      return undefined
  }
}

/** When the sandbox ends by its rules, and by which; the first one reached wins. Undefined means never. */
export const expiryOf = (record: Resource, instances: readonly Instance[]): Expiry | undefined => {
  const { runtime, lifecycle } = storedSandbox(record)
  const rules: Expiry[] = []
  if (runtime.ttl)
    rules.push({ at: record.createdAt + durationMs(runtime.ttl, 'spec.runtime.ttl'), rule: `ttl ${runtime.ttl}` })
  if (runtime.expires) rules.push({ at: Date.parse(runtime.expires), rule: `expires ${runtime.expires}` })
  for (const policy of lifecycle?.expirationPolicies ?? []) {
    const expiry = ofPolicy(policy, record, instances)
    if (expiry) rules.push(expiry)
  }
  return rules.reduce<Expiry | undefined>((first, rule) => (!first || rule.at < first.at ? rule : first), undefined)
}

/** How long a terminated record stays readable, ms. */
export const retentionMs = (record: Resource): number =>
  durationMs(storedSandbox(record).lifecycle?.terminatedRetention || '5m', 'spec.lifecycle.terminatedRetention')

/** What may be said about when a sandbox sleeps. */
import { durationMs } from '../../../../shared/durations.ts'
import { s } from '../../../../shared/schema.ts'

/** ms. */
const standbyAfter = { min: 1_000, max: 86_400_000 } as const

/** Whether a sandbox can be told to sleep after it; `''` is the host's own. */
const isStandbyAfter = (value: string): boolean => {
  if (value === '' || value === 'never') return true
  if (!/^\d{1,9}[smhdw]$/.test(value)) return false
  const ms = durationMs(value, 'after')
  return ms >= standbyAfter.min && ms <= standbyAfter.max
}

export const standby = s.object({
  after: s.nullish(s.string().check(s.refine(isStandbyAfter, 'must be "never" or a time from 1s to 24h'))),
  cpuAware: s.nullish(s.boolean()),
})

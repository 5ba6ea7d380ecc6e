/** Shapes of specs that several kinds have. */
import { s, text } from '../../shared/schema.ts'

export const flavors = s.array(s.object({ name: s.nullish(text(63)), type: s.nullish(s.enum(['cpu', 'gpu'])) }))

/** Names of other resources. */
export const nameList = s.nullish(s.array(text(63)).check(s.maxLength(100)))

export const duration = s
  .string()
  .check(s.regex(/^(\d{1,9}[smhdw])?$/, 'must be an integer followed by s, m, h, d or w'))

const isInstant = (value: string): boolean =>
  value === '' || (/^\d{4}-\d\d-\d\d([Tt ]|$)/.test(value) && !Number.isNaN(Date.parse(value)))

export const instant = s.string().check(s.refine(isInstant, 'must be an ISO 8601 instant'))

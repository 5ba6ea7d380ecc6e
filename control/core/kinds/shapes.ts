/** Shapes of specs that several kinds have. */
import { isInstant } from '../../../shared/instant.ts'
import { s, text } from '../../../shared/schema.ts'

export const flavors = s.array(s.object({ name: s.nullish(text(63)), type: s.nullish(s.enum(['cpu', 'gpu'])) }))

/** Names of other resources. */
export const nameList = s.nullish(s.array(text(63)).check(s.maxLength(100)))

export const duration = s
  .string()
  .check(s.regex(/^(\d{1,9}[smhdw])?$/, 'must be an integer followed by s, m, h, d or w'))

/** Empty stands for none. */
export const instant = s
  .string()
  .check(s.refine(value => value === '' || isInstant(value), 'must be an ISO 8601 instant'))

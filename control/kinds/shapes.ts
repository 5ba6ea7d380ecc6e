/** Shapes of specs that several kinds have. */
import { s, text } from '../../shared/schema.ts'

export const flavors = s.array(s.object({ name: s.nullish(text(63)), type: s.nullish(s.enum(['cpu', 'gpu'])) }))

/** Names of other resources. */
export const nameList = s.nullish(s.array(text(63)).check(s.maxLength(100)))

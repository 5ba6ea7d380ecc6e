import { closest } from '../../shared/closest.ts'
import { fail } from '../../shared/errors.ts'

/** Throws `invalid_argument` naming the first member that nobody knows: JavaScript has no types to say so. */
export const checkMembers = (given: object, known: readonly string[]): void => {
  const odd = Object.keys(given).find(name => !known.includes(name))
  if (odd === undefined) return
  const near = closest(odd, known)
  throw fail('invalid_argument', { field: odd, reason: `is not known${near ? `; did you mean ${near}?` : ''}` })
}

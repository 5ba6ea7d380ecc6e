/** What a new key may be limited to: for how long it works, and which scopes it has. */
import { durationMs } from '../../../shared/durations.ts'
import { fail } from '../../../shared/errors.ts'
import { s, text } from '../../../shared/schema.ts'
import type { ApiKey } from '../store/store.ts'
import { everyScope } from './keys.ts'

const tenYearsMs = 3653 * 86_400_000

const scope = text(64).check(
  s.regex(/^(admin|[A-Za-z]+:[A-Za-z]+)$/, 'must be a scope such as sandboxes:list, or admin for all of them'),
)

/** Members of the body that makes a key. */
export const keyTerms = {
  name: s.nullish(text(63)),
  expires_in: s.nullish(text(16)),
  scopes: s.nullish(s.array(scope).check(s.maxLength(200))),
}

/** When a key ends that is made `now`: epoch ms, or null for one that does not. Throws `invalid_argument`. */
export const expiryFrom = (expiresIn: unknown, now: number): number | null => {
  if (typeof expiresIn !== 'string' || expiresIn === '') return null
  const ms = durationMs(expiresIn, 'expires_in')
  if (ms === 0 || ms > tenYearsMs)
    throw fail('invalid_argument', { field: 'expires_in', reason: 'must be more than nothing and at most ten years' })
  return now + ms
}

/** Of a list of scopes; null stands for all of them. */
export type Scopes = ApiKey['scopes']

/** The first of `wanted` that is not among `scopes`. */
export const scopeBeyond = (scopes: Scopes, wanted: Scopes): string | undefined => {
  if (!scopes || scopes.includes(everyScope)) return undefined
  return wanted ? wanted.find(one => !scopes.includes(one)) : 'every scope'
}

/** Nobody makes a key that may do more than the one it is made with: throws `forbidden`. */
export const needScopesFor = (scopes: Scopes, wanted: Scopes): void => {
  const beyond = scopeBeyond(scopes, wanted)
  if (beyond) throw fail('forbidden', { reason: `a key with ${beyond} cannot be made with this one` })
}

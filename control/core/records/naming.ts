/** What the records of a kind may be called. */
import { fail } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'

export interface Naming {
  /** Checks a name that is to be given to something new; throws `invalid_argument` naming `field`. */
  check(name: string, field?: string): string
  /** The name of one that comes without; a kind that has none of these wants a name. */
  generate?(ids: Ids): string
  /** What a name in an address is stored as, where that is something else. */
  stored?(given: string): string
}

const field = 'metadata.name'

const namePattern = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/

export const checkName = (name: string, at = field): string => {
  const refuse = (reason: string) => fail('invalid_argument', { field: at, reason })
  if (name.length > 49) throw refuse('must be at most 49 characters')
  if (!namePattern.test(name))
    throw refuse('must be lowercase letters, digits and hyphens, beginning and ending with a letter or digit')
  return name
}

/** A host name of two labels at least: labels of letters, digits and hyphens (RFC 1123), 253 characters at most. */
const checkDomain = (name: string, at = field): string => {
  const labels = name.split('.')
  const right = labels.length > 1 && labels.every(label => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label))
  if (name.length > 253 || !right)
    throw fail('invalid_argument', { field: at, reason: 'must be a domain in lower case, such as example.com' })
  return name
}

/** Names are the caller's to give. */
export const givenNames: Naming = { check: checkName }

/** One that comes without a name is given `{prefix}-{8 characters}`. */
export const namesFrom = (prefix: string): Naming => ({
  check: checkName,
  generate: ids => `${prefix}-${ids.short(8)}`,
})

/** Nobody gives them names: they are known by an id. */
export const idNames: Naming = {
  check(_, at = field) {
    throw fail('invalid_argument', { field: at, reason: 'cannot be chosen' })
  },
  generate: ids => ids.uuid(),
}

export const domainNames: Naming = { check: checkDomain }

/** A registry as references to its images name it: a host, with its port where that is not the usual one. */
const checkRegistry = (name: string, at = field): string => {
  if (name.length <= 253 && /^(?=.*[.:]|localhost$)[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9]\d{0,4})?$/.test(name))
    return name
  throw fail('invalid_argument', {
    field: at,
    reason: 'must be the host of a registry, such as ghcr.io or localhost:5000',
  })
}

export const registryNames: Naming = { check: checkRegistry }

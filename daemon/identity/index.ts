/** The workload identity of this sandbox, if it has one. */
import { readFileSync } from 'node:fs'
import { errno } from '../../shared/errors.ts'
import { resolveIdentity, type Identity } from './spec.ts'

export type { Identity } from './spec.ts'

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    // An image without user database can still be given numbers.
    if (errno(error) === 'ENOENT') return ''
    throw error
  }
}

/** Reads the user database; `undefined` when `spec` is (workloads run as root). Throws `invalid_argument`: do not start. */
export const loadIdentity = (spec: string | undefined): Identity | undefined =>
  spec === undefined ? undefined : resolveIdentity(spec, { passwd: read('/etc/passwd'), group: read('/etc/group') })

/** The environment of a tenant process, made of `env` itself: the three variables of the identity win over everybody's. */
export const identityEnvironment = (
  identity: Identity | undefined,
  env: Record<string, string>,
): Record<string, string> =>
  identity ? Object.assign(env, { HOME: identity.home, USER: identity.name, LOGNAME: identity.name }) : env

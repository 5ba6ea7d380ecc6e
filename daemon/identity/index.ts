/** The workload identity of this sandbox, if it has one. */
import { errno } from '../../shared/errors.ts'
import { readRegularFile } from '../config/read-regular-file.ts'
import { resolveIdentity, type Identity } from './spec.ts'

export type { Identity } from './spec.ts'

const read = (path: string): string => {
  try {
    return readRegularFile(path).toString('utf8')
  } catch (error) {
    // In an image without a user database numbers still work.
    if (errno(error) === 'ENOENT') return ''
    throw error
  }
}

/**
 * Looks up `spec` in the user database; undefined when it is (workloads run as root). Throws `invalid_argument`; the
 * daemon must not start then.
 */
export const loadIdentity = (spec: string | undefined): Identity | undefined =>
  spec === undefined ? undefined : resolveIdentity(spec, { passwd: read('/etc/passwd'), group: read('/etc/group') })

/** Adds the identity's three variables to `env` itself; they win over any others. */
export const identityEnvironment = (
  identity: Identity | undefined,
  env: Record<string, string>,
): Record<string, string> =>
  identity ? Object.assign(env, { HOME: identity.home, USER: identity.name, LOGNAME: identity.name }) : env

/** Who may call a route of the management API: what the route states, and whether a credential meets it. */
import { fail, isError } from '../../../shared/errors.ts'
import type { Route } from '../../../shared/route.ts'
import { needScopes } from './keys.ts'
import type { ApiKey } from '../store/store.ts'

/**
 * `member`: everybody who reaches the workspace. `admin`: its admins. `account`: admins of the account, who act on all
 * of its workspaces.
 */
export type Role = 'member' | 'admin' | 'account'

export interface Access {
  /** OAuth scopes, all of which are needed. A credential without a list of scopes has every scope. */
  readonly scope: string | readonly string[]
  readonly role: Role
}

/** What a route states; throws when it states nothing and is not open to everybody. */
export const accessOf = (route: Route): Access | undefined => {
  const { access } = route.extra as { access?: Access }
  if (access || route.open) return access
  throw new Error(`${route.id} does not state who may call it`)
}

const scopesOf = ({ scope }: Access): readonly string[] => (typeof scope === 'string' ? [scope] : scope)

const has: Readonly<Record<Role, (key: ApiKey) => boolean>> = {
  member: () => true,
  // Of a person who is in several, in some of them: whoever looks for the workspace asks again there.
  admin: ({ role, memberships }) => role === 'admin' && (!memberships || Object.values(memberships).includes('admin')),
  account: ({ accountAdmin, workspace }) => accountAdmin && workspace === null,
}

const nameOf: Readonly<Record<Role, string>> = {
  member: 'a member of the workspace',
  admin: 'an admin of the workspace',
  account: 'an admin of the account',
}

/** Whether a credential has the scopes and the role. */
export const meetsAccess = (access: Access, key: ApiKey): boolean => {
  try {
    needAccess(access, key)
    return true
  } catch (error) {
    if (isError(error, 'forbidden')) return false
    throw error
  }
}

/** Throws `forbidden` for a credential that lacks a scope or the role. */
export const needAccess = (access: Access, key: ApiKey): void => {
  needScopes(key, scopesOf(access))
  if (!has[access.role](key)) throw fail('forbidden', { reason: `this needs ${nameOf[access.role]}` })
}

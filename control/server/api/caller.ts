/** Who calls the management API, and on which workspace. */
import { fail } from '../../../shared/errors.ts'
import type { Request } from '../../../shared/route.ts'
import { credentialOf } from '../../core/access/credential.ts'
import { needReach, reaches, type Keys } from '../../core/access/keys.ts'
import type { ApiKey, Tenants, Workspace } from '../../core/store/store.ts'
import { headerOf, type WireNames } from '../../base/wire/names.ts'

export interface Caller {
  /** The key of a request, by header. Throws `unauthenticated`. */
  keyOf(request: Request): Promise<ApiKey>
  /**
   * The workspace a request means: query `workspace`, else header, by name or id, else the one the key means by default,
   * else the only one there is.
   * Throws `invalid_argument` when it cannot be told, `not_found` when unknown, `forbidden` when the key does not reach it.
   */
  workspaceOf(key: ApiKey, request: Request): Promise<Workspace>
}

export const createCaller = (deps: { keys: Keys; tenants: Tenants; names: WireNames }): Caller => {
  const { keys, tenants, names } = deps

  const only = async (key: ApiKey): Promise<Workspace> => {
    if (key.workspace) {
      const bound = await tenants.workspace(key.workspace)
      if (bound) return bound
      throw fail('forbidden', { reason: 'the workspace of this API key does not exist any more' })
    }
    const meant = key.defaultWorkspace && (await tenants.workspace(key.defaultWorkspace))
    if (meant && reaches(key, meant)) return meant
    const [first, second] = (await tenants.workspaces(key.account)).filter(one => reaches(key, one))
    if (first && !second) return first
    if (!first) throw fail('forbidden', { reason: 'this credential reaches no workspace' })
    throw fail('invalid_argument', {
      field: 'workspace',
      reason: `is required: send the query "workspace" or the header "${names.headers('Workspace')[0]}"`,
    })
  }

  return {
    async keyOf({ headers }) {
      const credential = credentialOf(headers, names.credentialHeaders)
      if (credential) return keys.verify(credential.key)
      const reason = headerOf(headers, names.credentialHeaders)
        ? 'the credential must have the form "Bearer <key>"'
        : 'send an API key as "Authorization: Bearer <key>"'
      throw fail('unauthenticated', { reason })
    },
    async workspaceOf(key, request) {
      const given = request.search.get('workspace') || headerOf(request.headers, names.workspaceHeaders)
      if (!given) return only(key)
      const found = await tenants.workspace(given)
      if (!found) throw fail('not_found', { kind: 'workspace', name: given.slice(0, 64) })
      needReach(key, found)
      return found
    },
  }
}

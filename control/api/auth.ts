/** Who calls, and on which workspace. Keys are stored as SHA-256; the key itself is seen only here. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import type { Request } from '../../shared/route.ts'
import type { ApiKey, Tenants, Workspace } from '../store/store.ts'
import { headerOf, type WireNames } from '../wire/names.ts'

/** SHA-256 of an API key in hex, as stored. */
export const hashKey = (key: string): string => createHash('sha256').update(key).digest('hex')

/** The bearer credential of a request; throws `unauthenticated` when there is none. */
export const credentialOf = (headers: Request['headers'], names: WireNames): string => {
  const value = headerOf(headers, names.credentialHeaders)
  if (!value) throw fail('unauthenticated', { reason: 'send an API key as "Authorization: Bearer <key>"' })
  const [, key] = /^Bearer +(\S+)\s*$/i.exec(value) ?? []
  if (!key) throw fail('unauthenticated', { reason: 'the credential must have the form "Bearer <key>"' })
  return key
}

export interface Auth {
  /** The key behind a credential; throws `unauthenticated` when unknown or expired. */
  verify(credential: string): Promise<ApiKey>
  /** The key of a request, by header. */
  keyOf(request: Request): Promise<ApiKey>
  /**
   * The workspace a request means: query `workspace`, else header, by name or id, else the only one there is.
   * Throws `invalid_argument` when it cannot be told, `not_found` when unknown, `forbidden` when the key does not reach it.
   */
  workspaceOf(key: ApiKey, request: Request): Promise<Workspace>
}

const same = (a: string, b: string): boolean => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

export const createAuth = (deps: { tenants: Tenants; clock: Clock; names: WireNames }): Auth => {
  const { tenants, clock, names } = deps

  const verify: Auth['verify'] = async credential => {
    const hash = hashKey(credential)
    const key = await tenants.apiKeyByHash(hash)
    if (!key || !same(key.hash, hash)) throw fail('unauthenticated', { reason: 'the API key is not valid' })
    if (key.expiresAt !== null && key.expiresAt <= clock.now())
      throw fail('unauthenticated', { reason: 'the API key has expired' })
    return key
  }

  const only = async (key: ApiKey): Promise<Workspace> => {
    if (key.workspace) {
      const bound = await tenants.workspace(key.workspace)
      if (bound) return bound
      throw fail('forbidden', { reason: 'the workspace of this API key does not exist any more' })
    }
    const [first, second] = await tenants.workspaces(key.account)
    if (first && !second) return first
    throw fail('invalid_argument', {
      field: 'workspace',
      reason: `is required: send the query "workspace" or the header "${names.headers('Workspace')[0]}"`,
    })
  }

  return {
    verify,
    keyOf: async request => verify(credentialOf(request.headers, names)),
    async workspaceOf(key, request) {
      const given = request.search.get('workspace') || headerOf(request.headers, names.workspaceHeaders)
      if (!given) return only(key)
      const found = await tenants.workspace(given)
      if (!found) throw fail('not_found', { kind: 'workspace', name: given.slice(0, 64) })
      const reached =
        found.account === key.account && (!key.workspace || [found.id, found.name].includes(key.workspace))
      if (!reached) throw fail('forbidden', { reason: `this API key does not reach workspace "${found.name}"` })
      return found
    },
  }
}

/** API keys: what is stored of them, and what they reach. Stored as SHA-256; the key itself is seen only here. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../shared/clock.ts'
import { fail } from '../../shared/errors.ts'
import type { Ids } from '../../shared/ids.ts'
import type { ApiKey, Tenants, Workspace } from '../store/store.ts'
import type { KeyUses } from './key-uses.ts'

/** SHA-256 of an API key in hex, as stored. */
export const hashKey = (key: string): string => createHash('sha256').update(key).digest('hex')

const same = (a: string, b: string): boolean => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/** A new key, to be told once. */
export const newKey = (ids: Ids): string => `hutch_${ids.secret(32)}`

export interface Keys {
  /** The key behind a credential; throws `unauthenticated` when unknown or expired. */
  verify(credential: string): Promise<ApiKey>
}

export const createKeys = (deps: {
  tenants: Pick<Tenants, 'apiKeyByHash'>
  clock: Clock
  uses: Pick<KeyUses, 'note'>
}): Keys => {
  const { tenants, clock, uses } = deps
  return {
    async verify(credential) {
      const hash = hashKey(credential)
      const key = await tenants.apiKeyByHash(hash)
      if (!key || !same(key.hash, hash)) throw fail('unauthenticated', { reason: 'the API key is not valid' })
      if (key.expiresAt !== null && key.expiresAt <= clock.now())
        throw fail('unauthenticated', { reason: 'the API key has expired' })
      uses.note(key.id)
      return key
    },
  }
}

/** Whether a key may act in a workspace: one of its account, and the one it is bound to if it is. */
export const reaches = (key: Pick<ApiKey, 'account' | 'workspace'>, workspace: Workspace): boolean =>
  key.account === workspace.account && (!key.workspace || [workspace.id, workspace.name].includes(key.workspace))

/** The scope that stands for all others; operations that name no scope of their own need it. */
export const everyScope = 'admin'

/** Throws `forbidden` for a key that is limited to scopes and lacks one of these. */
export const needScopes = ({ scopes }: Pick<ApiKey, 'scopes'>, wanted: readonly string[]): void => {
  if (!scopes || scopes.includes(everyScope)) return
  const missing = wanted.find(scope => !scopes.includes(scope))
  if (missing) throw fail('forbidden', { reason: `this needs the scope "${missing}"` })
}

/** Throws `forbidden`. */
export const needReach = (key: Pick<ApiKey, 'account' | 'workspace'>, workspace: Workspace): void => {
  if (!reaches(key, workspace))
    throw fail('forbidden', { reason: `this API key does not reach workspace "${workspace.name}"` })
}

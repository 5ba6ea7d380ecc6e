/** API keys: what is stored of them, and what they reach. Stored as SHA-256; the key itself is seen only here. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../../shared/clock.ts'
import { fail } from '../../../shared/errors.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { ApiKey, Tenants, Workspace } from '../store/store.ts'
import type { KeyUses } from './key-uses.ts'
import type { Right } from './standing.ts'

/** SHA-256 of an API key in hex, as stored. */
export const hashKey = (key: string): string => hash('sha256', key, 'hex')

const same = (a: string, b: string): boolean => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))

/** A new key, to be told once. */
export const newKey = (ids: Ids): string => `hutch_${ids.secret(32)}`

export interface Keys {
  /** The key behind a credential; throws `unauthenticated` when unknown or expired. */
  verify(credential: string): Promise<ApiKey>
  /** The same for a key of which only the hash is known. */
  verifyHash(hash: string): Promise<ApiKey>
  /** Whether a key that was verified, and may have changed since only by time, still is valid; then it is used once more. */
  useAgain(key: ApiKey): boolean
  /**
   * What lets a use of the key go on after it has begun: the key itself, and that it reaches the workspace where it is used. Its
   * further uses are not noted.
   */
  right(key: ApiKey, workspace?: Workspace): Right
}

export const createKeys = (deps: {
  tenants: Pick<Tenants, 'apiKeyByHash'>
  clock: Clock
  uses: Pick<KeyUses, 'note'>
  /** Verifies what is no API key but an access token; without it all are keys. */
  tokens?: { isOne(credential: string): boolean; verify(token: string): Promise<ApiKey> }
}): Keys => {
  const { tenants, clock, uses, tokens } = deps
  const valid = async (hash: string): Promise<ApiKey> => {
    const key = await tenants.apiKeyByHash(hash)
    if (!key || !same(key.hash, hash)) throw fail('unauthenticated', { reason: 'the API key is not valid' })
    if (key.expiresAt !== null && key.expiresAt <= clock.now())
      throw fail('unauthenticated', { reason: 'the API key has expired' })
    return key
  }
  const verifyHash = async (hash: string): Promise<ApiKey> => {
    const key = await valid(hash)
    uses.note(key.id)
    return key
  }
  return {
    verifyHash,
    async verify(credential) {
      if (!tokens?.isOne(credential)) return verifyHash(hashKey(credential))
      const key = await tokens.verify(credential)
      uses.note(key.id)
      return key
    },
    useAgain({ id, expiresAt }) {
      if (expiresAt !== null && expiresAt <= clock.now()) return false
      uses.note(id)
      return true
    },
    right: ({ id, hash, expiresAt }, workspace) => ({
      // A token ends before the grant it came of.
      id: `${id} ${expiresAt} ${workspace?.id}`,
      async holds() {
        if (expiresAt !== null && expiresAt <= clock.now())
          throw fail('unauthenticated', { reason: 'the credential has expired' })
        const key = await valid(hash)
        if (workspace) needReach(key, workspace)
      },
    }),
  }
}

type Reach = Pick<ApiKey, 'account' | 'workspace' | 'memberships'>

/** Whether a key may act in a workspace: one of its account, the one it is bound to if it is, one its holder is in if that counts. */
export const reaches = ({ account, workspace: bound, memberships }: Reach, workspace: Workspace): boolean =>
  account === workspace.account &&
  (!bound || [workspace.id, workspace.name].includes(bound)) &&
  (!memberships || Object.hasOwn(memberships, workspace.name))

/** The key as it counts in a workspace that it reaches: nobody is more there than they are in it. */
export const inWorkspace = (key: ApiKey, { name }: Pick<Workspace, 'name'>): ApiKey =>
  key.memberships && key.memberships[name] !== 'admin' ? { ...key, role: 'member' } : key

/** The scope that stands for all others; operations that name no scope of their own need it. */
export const everyScope = 'admin'

/** Throws `forbidden` for a key that is limited to scopes and lacks one of these. */
export const needScopes = ({ scopes }: Pick<ApiKey, 'scopes'>, wanted: readonly string[]): void => {
  if (!scopes || scopes.includes(everyScope)) return
  const missing = wanted.find(scope => !scopes.includes(scope))
  if (missing) throw fail('forbidden', { reason: `this needs the scope "${missing}"` })
}

/** Throws `forbidden`. */
export const needReach = (key: Reach, workspace: Workspace): void => {
  if (!reaches(key, workspace))
    throw fail('forbidden', { reason: `this credential does not reach workspace "${workspace.name}"` })
}

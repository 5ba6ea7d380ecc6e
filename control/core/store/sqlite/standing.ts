/** What the key of a person is good for follows from what the person is now: an admin of the account, or somebody in workspaces. */
import type { ApiKey, KeyHolder } from '../store.ts'
import type { Memberships } from './memberships.ts'
import { query, type Prepare } from './prepared.ts'

/** A key as it counts; those of nobody who signs in stay as they are, and one of somebody who is gone is none. */
export type Standing = (key: ApiKey) => ApiKey | undefined

export const standing = (prepare: Prepare, memberships: Pick<Memberships, 'of'>): Standing => {
  const admin = prepare((given: { sub: string }) =>
    query.selectFrom('people').select('account_admin').where('sub', '=', given.sub),
  )
  return key => {
    const found = key.person && admin.get(key.person)
    if (!found) return key.person?.signsIn ? undefined : key
    if (found.account_admin === 1) return key
    const roles = memberships.of((key.person as KeyHolder).sub).map(({ workspace, role }) => [workspace, role])
    return { ...key, accountAdmin: false, memberships: Object.fromEntries(roles) }
  }
}

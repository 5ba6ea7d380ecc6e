/** Keys by the person whose they are. */
import { sql } from 'kysely'
import { query, type Prepare } from './prepared.ts'

const ownedBy = (sub: string) => sql<boolean>`person ->> '$.sub' = ${sub} AND person IS NOT NULL`

/** Each must run inside a transaction. */
export const ownedKeys = (prepare: Prepare) => {
  const all = prepare((given: { sub: string }) => query.deleteFrom('api_keys').where(ownedBy(given.sub)))
  const logins = prepare((given: { sub: string }) =>
    query.deleteFrom('api_keys').where(ownedBy(given.sub)).where('hash', 'like', 'grant:%'),
  )
  return {
    remove: (sub: string): void => void all.run({ sub }),
    removeLogins: (sub: string): void => void logins.run({ sub }),
  }
}

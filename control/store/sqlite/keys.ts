/** Statements that write API keys: by themselves, and with the resource that a key was made for. */
import type { ApiKey } from '../store.ts'
import { query, type Prepare } from './prepared.ts'
import type { ApiKeyRow } from './tables.ts'

export const toApiKeyRow = (key: ApiKey): ApiKeyRow => ({
  id: key.id,
  hash: key.hash,
  name: key.name,
  account: key.account,
  workspace: key.workspace,
  role: key.role,
  account_admin: key.accountAdmin ? 1 : 0,
  created_at: key.createdAt,
  expires_at: key.expiresAt,
  scopes: key.scopes && JSON.stringify(key.scopes),
  owner: key.owner,
})

export const keyWriting = (prepare: Prepare) => ({
  add: prepare((given: ApiKeyRow) =>
    query.insertInto('api_keys').values({
      id: given.id,
      hash: given.hash,
      name: given.name,
      account: given.account,
      workspace: given.workspace,
      role: given.role,
      account_admin: given.account_admin,
      created_at: given.created_at,
      expires_at: given.expires_at,
      scopes: given.scopes,
      owner: given.owner,
    }),
  ),
  removeOf: prepare((given: { owner: string }) => query.deleteFrom('api_keys').where('owner', '=', given.owner)),
})

export type KeyWriting = ReturnType<typeof keyWriting>

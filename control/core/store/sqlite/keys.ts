/** API keys as rows, and the statements that read and write them. */
import { sql } from 'kysely'
import type { ApiKey, KeyHolder } from '../store.ts'
import { readJson } from './read-json.ts'
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
  person: key.person && JSON.stringify(key.person),
  default_workspace: key.defaultWorkspace,
  last_used_at: null,
})

const partOf = <T extends object>(row: ApiKeyRow, column: 'scopes' | 'person', text: string): T =>
  readJson<T>(text, { table: 'api_keys', row: row.id, column })

export const toApiKey = (row: ApiKeyRow): ApiKey => ({
  id: row.id,
  hash: row.hash,
  name: row.name,
  account: row.account,
  workspace: row.workspace,
  role: row.role,
  accountAdmin: row.account_admin === 1,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  scopes: row.scopes === null ? null : partOf<string[]>(row, 'scopes', row.scopes),
  owner: row.owner,
  person: row.person === null ? null : partOf<KeyHolder>(row, 'person', row.person),
  defaultWorkspace: row.default_workspace,
})

export const keyReading = (prepare: Prepare) => ({
  byHash: prepare((given: { hash: string }) => query.selectFrom('api_keys').selectAll().where('hash', '=', given.hash)),
  personal: prepare((given: { account: string }) =>
    query
      .selectFrom('api_keys')
      .selectAll()
      .where('account', '=', given.account)
      .where('person', 'is not', null)
      .orderBy('created_at')
      .orderBy(sql`rowid`),
  ),
  isThere: prepare((given: { id: string }) => query.selectFrom('api_keys').select('id').where('id', '=', given.id)),
  use: prepare((given: { id: string }) =>
    query.selectFrom('api_keys').select('last_used_at').where('id', '=', given.id),
  ),
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
      person: given.person,
      default_workspace: given.default_workspace,
    }),
  ),
  remove: prepare((given: { id: string }) => query.deleteFrom('api_keys').where('id', '=', given.id)),
  noteUse: prepare((given: { id: string; at: number }) =>
    query.updateTable('api_keys').set({ last_used_at: given.at }).where('id', '=', given.id),
  ),
  removeOf: prepare((given: { owner: string }) => query.deleteFrom('api_keys').where('owner', '=', given.owner)),
})

export type KeyWriting = ReturnType<typeof keyWriting>

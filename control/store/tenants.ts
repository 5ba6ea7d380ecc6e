/** Who there is: accounts, their workspaces, and the keys that reach them. */
export interface Account {
  readonly id: string
  readonly displayName: string
  readonly createdAt: number
}

export interface Workspace {
  readonly id: string
  readonly name: string
  readonly account: string
  readonly displayName: string
  readonly createdAt: number
}

export interface ApiKey {
  readonly id: string
  /** SHA-256 of the key in hex; the key itself is never stored. */
  readonly hash: string
  readonly name: string
  readonly account: string
  /** The one workspace it reaches, or null for all of the account. */
  readonly workspace: string | null
  readonly role: 'admin' | 'member'
  readonly accountAdmin: boolean
  readonly createdAt: number
  readonly expiresAt: number | null
}

export interface Tenants {
  accounts(): Promise<Account[]>
  account(id: string): Promise<Account | undefined>
  workspaces(account: string): Promise<Workspace[]>
  /** By name or id. */
  workspace(nameOrId: string): Promise<Workspace | undefined>
  apiKeyByHash(hash: string): Promise<ApiKey | undefined>
  /** Adding throws `already_exists` when the id, name or hash is taken, `not_found` when the account is unknown. */
  addAccount(account: Account): Promise<void>
  addWorkspace(workspace: Workspace): Promise<void>
  addApiKey(key: ApiKey): Promise<void>
  removeApiKey(id: string): Promise<void>
}

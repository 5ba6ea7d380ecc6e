import type { AuditEntry } from './audit.ts'

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
  readonly labels?: Readonly<Record<string, string>>
  /** Its labels are there and cannot be read. */
  readonly unreadable?: true
  readonly createdBy?: string
  readonly updatedBy?: string
  readonly createdAt: number
  /** When it was made, unless changed since. */
  readonly updatedAt?: number
}

/** Absent members keep their value. */
export type WorkspaceChange = Pick<Partial<Workspace>, 'displayName' | 'labels'> &
  Required<Pick<Workspace, 'updatedBy' | 'updatedAt'>>

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
  /** The OAuth scopes it is limited to, or null for all. */
  readonly scopes: readonly string[] | null
  /** Uid of the resource that it was made for and goes with, or null. */
  readonly owner: string | null
  /** Whose it is, or null for a key of a resource. */
  readonly person: KeyHolder | null
  /** Name of the workspace that a call means which names none, or null. */
  readonly defaultWorkspace: string | null
  /** Of a person who is no admin of the account: the workspaces they are in, by name, and as what. */
  readonly memberships?: Readonly<Record<string, ApiKey['role']>>
  /** When what an access token came of ends, or null; absent for keys. */
  readonly grantEnds?: number | null
}

/** A person who has keys, and what they call one of them. */
export interface KeyHolder {
  readonly sub: string
  readonly label: string
  /** As it was asked for: `30d`; '' for a key that does not expire. */
  readonly expiresIn: string
  /** Somebody who signs in: the key is none when they are gone. */
  readonly signsIn?: true
}

/** When a key was last used, epoch ms. */
export interface KeyUse {
  readonly id: string
  readonly at: number
}

/** Each change may be written down with it: `audit` says who made it. */
export interface Tenants {
  accounts(): Promise<Account[]>
  account(id: string): Promise<Account | undefined>
  workspaces(account: string): Promise<Workspace[]>
  /** By name or id. */
  workspace(nameOrId: string): Promise<Workspace | undefined>
  /** Whether the name is taken, if only by one that was deleted. */
  isTaken(name: string): Promise<boolean>
  apiKeyByHash(hash: string): Promise<ApiKey | undefined>
  /** Adding throws `already_exists` when the id, name or hash is taken, `not_found` when the account is unknown. */
  /** With its first workspace, where one is given. */
  addAccount(account: Account, first?: Workspace, audit?: AuditEntry): Promise<void>
  addWorkspace(workspace: Workspace, audit?: AuditEntry): Promise<void>
  /** Throws `not_found`. */
  updateWorkspace(name: string, change: WorkspaceChange, audit?: AuditEntry): Promise<Workspace>
  /** With `madeWith`, the id of the key it was made with: throws `unauthenticated` when that one is gone. */
  addApiKey(key: ApiKey, audit?: AuditEntry, madeWith?: string): Promise<void>
  removeApiKey(id: string, audit?: AuditEntry, now?: number): Promise<void>
  /** Keys of persons of the account, oldest first, without those that cannot be read. */
  personalKeys(account: string): Promise<ApiKey[]>
  /** When a key was last used, as far as that was written down; undefined for one that never was. */
  keyUse(id: string): Promise<number | undefined>
  /** Writes down uses; keys that are gone are passed over. */
  noteKeyUses(uses: readonly KeyUse[]): Promise<void>
}

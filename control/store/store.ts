/**
 * What the control plane remembers.
 *
 *     accounts      id, display_name
 *     workspaces    name PK, id, account, display_name
 *     api_keys      id PK, hash UNIQUE, name, account, workspace|null, role, expires_at|null
 *     resources     uid PK, kind, workspace, parent, name, version, status, external_id|null, body JSON, times
 *                   one live row per (kind, workspace, parent, name); every kind shares the table
 *     events        resource uid, time, type, status, message
 *     intervals     resource uid, workspace, type, name, dimension, quantity, from, to|null (open), accounted_to
 *     rollups       hour, workspace, type, name, uid, dimension, usage         computed from intervals
 *     meta          key, value
 *
 * Every method is one whole transaction: when it resolves, what it wrote survives `kill -9`. Methods are
 * asynchronous because the next backend is a server. Lists are scoped by workspace in the query itself.
 * Times are epoch milliseconds.
 */
export interface Store {
  readonly resources: Resources
  readonly tenants: Tenants
  readonly meter: Meter
  close(): Promise<void>
}

/** A resource of any kind, as stored. */
export interface Resource {
  readonly uid: string
  readonly kind: string
  readonly workspace: string
  /** Name of the owning resource for kinds that live inside another (previews of a sandbox), else ''. */
  readonly parent: string
  readonly name: string
  /** Grows by one with each change; the token of optimistic concurrency. */
  readonly version: number
  readonly status: string
  readonly metadata: StoredMetadata
  /** The kind's own part, as the kind defines it. */
  readonly spec: Readonly<Record<string, unknown>>
  /** What the machinery needs to remember and no API shows (driver, state word, slot, times). */
  readonly internal: Readonly<Record<string, unknown>>
  readonly createdAt: number
  readonly updatedAt: number
}

export interface StoredMetadata {
  readonly displayName?: string
  readonly externalId?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly createdBy: string
  readonly updatedBy: string
}

export interface ResourceEvent {
  readonly time: number
  readonly type: string
  readonly status: string
  readonly message: string
  readonly revision?: string
}

export interface Key {
  readonly kind: string
  readonly workspace: string
  readonly parent: string
  readonly name: string
}

export type Sort = 'createdAt:desc' | 'createdAt:asc' | 'name:asc' | 'name:desc'

export interface Listing {
  readonly kind: string
  readonly workspace: string
  readonly parent?: string
  readonly statuses?: readonly string[]
  readonly exceptStatuses?: readonly string[]
  readonly externalId?: string
  /** Lower-case substring over name, displayName, label keys and values. */
  readonly q?: string
  readonly sort: Sort
  readonly limit: number
  /** Continue after this position of the same listing. */
  readonly after?: Position
}

/** Sort value and uid of the last item given out. */
export interface Position {
  readonly value: string | number
  readonly uid: string
}

/** A metered quantity that holds from a change on: `quantity` units of `dimension` per second. */
export interface Rate {
  readonly dimension: string
  readonly quantity: number
}

export interface Change {
  readonly status?: string
  readonly metadata?: StoredMetadata
  readonly spec?: Readonly<Record<string, unknown>>
  readonly internal?: Readonly<Record<string, unknown>>
  readonly event?: ResourceEvent
  /** What is metered from now on, replacing what was: closes open intervals and opens these in the same transaction. */
  readonly rates?: readonly Rate[]
}

export interface Resources {
  /** Throws `already_exists` when the name is taken in that kind, workspace and parent. */
  create(resource: Resource, first: { event?: ResourceEvent; rates?: readonly Rate[] }): Promise<Resource>
  get(key: Key): Promise<Resource | undefined>
  getByUid(uid: string): Promise<Resource | undefined>
  /** Newest with that external id and none of `exceptStatuses`. */
  getByExternalId(
    kind: string,
    workspace: string,
    externalId: string,
    exceptStatuses: readonly string[],
  ): Promise<Resource | undefined>
  list(listing: Listing): Promise<{ items: Resource[]; hasMore: boolean }>
  /** All in the workspace, whatever the filters. */
  count(kind: string, workspace: string, parent?: string): Promise<number>
  /** Across workspaces; for reconcilers at start-up only. */
  everyOf(kind: string): Promise<Resource[]>
  /** Compare and swap on `version`; throws `changed_meanwhile` when the row moved on or is gone. `now` stamps updatedAt. */
  update(uid: string, version: number, change: Change, now: number): Promise<Resource>
  /** Removes the row and closes its intervals at `now`; its events and intervals stay for the bill. Done when gone. */
  remove(uid: string, now: number): Promise<void>
  /** Oldest first. */
  events(uid: string): Promise<ResourceEvent[]>
}

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

export type Dimension = 'workspace' | 'resource_type' | 'resource_name' | 'resource_uuid' | 'billing_dimension'

export interface UsageQuery {
  readonly account: string
  readonly from: number
  /** Exclusive. */
  readonly to: number
  /** Start of each bucket, ascending; each ends where the next starts, the last at `to`. Hour-aligned except the ends of the window. */
  readonly buckets: readonly number[]
  readonly groupBy: readonly Dimension[]
  readonly workspace?: string
  readonly resourceType?: string
  readonly resourceName?: string
  readonly resourceUuid?: string
  readonly billingDimension?: string
}

/**
 * Usage of one group, dimension and bucket; rows of zero are left out. Fields that the grouping does not tell apart
 * are ''. A name comes with its workspace and type, a uuid with its name, workspace and type, a billing dimension
 * with its type; `billingDimension` is always there, because the price depends on it.
 */
export interface UsageRow {
  readonly workspace: string
  readonly resourceType: string
  readonly resourceName: string
  readonly resourceUuid: string
  readonly billingDimension: string
  /** Index into `buckets`. */
  readonly bucket: number
  /** quantity × seconds, or counts. */
  readonly usage: number
  /** The same, exact: in `partsPerUnit` of a unit (amounts.ts). */
  readonly parts: bigint
}

export interface Interval {
  readonly uid: string
  readonly workspace: string
  readonly resourceType: string
  readonly resourceName: string
  readonly dimension: string
  readonly quantity: number
  readonly from: number
  readonly to: number | null
}

export interface Meter {
  /** Records `quantity` at a moment, for dimensions that are counted. `now` is rounded down to a second. */
  count(
    resource: Pick<Resource, 'uid' | 'kind' | 'workspace' | 'name'>,
    dimension: string,
    quantity: number,
    now: number,
  ): Promise<void>
  /** Marks open intervals as accounted up to `now`, and moves what was completed into the rollups. */
  checkpoint(now: number): Promise<void>
  /** After a crash: intervals of resources that cannot have run since are closed at their last checkpoint. */
  closeStale(uids: readonly string[], now: number): Promise<void>
  /** Sums of rollups, plus what the open intervals add up to `now`. */
  usage(query: UsageQuery, now: number): Promise<UsageRow[]>
  /** Resource types with any usage in the window, sorted. */
  resourceTypes(account: string, from: number, to: number, now: number): Promise<string[]>
  /** The intervals behind a sum; the evidence of the bill. */
  intervals(uid: string): Promise<Interval[]>
  /** Computes all rollups again from the intervals. */
  rebuild(now: number): Promise<void>
}

/** Resources of every kind, and how they are found. */
export interface Resource {
  readonly uid: string
  readonly kind: string
  readonly workspace: string
  /** Names of what it lives inside, outermost first, joined by `/` (`web` of a preview, `web/p1` of its token); else ''. */
  readonly parent: string
  readonly name: string
  /** Grows by one with each change; the token of optimistic concurrency. */
  readonly version: number
  /** '' for kinds that have none. */
  readonly status: string
  readonly metadata: StoredMetadata
  /** The kind's own part, as the kind defines it. */
  readonly spec: Readonly<Record<string, unknown>>
  /** What the machinery needs to remember and no API shows as it is. */
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
  readonly canaryRevision?: string
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
  /** So many are left out first; for listings without a filter on statuses. */
  readonly offset?: number
  /** Continue after this position of the same listing. */
  readonly after?: Position
}

/** Sort value and uid of the last item given out. */
export interface Position {
  readonly value: string | number
  readonly uid: string
}

/** A resource that names another one, and where it does: `spec.volumes.0.name`. */
export interface Usage {
  readonly uid: string
  readonly kind: string
  readonly parent: string
  readonly name: string
  readonly field: string
}

/** Told of a row that cannot be read, by uid or id, and why. */
export type Unreadable = (id: string, error: unknown) => void

/** The same of a record, with what its columns say. */
export type UnreadableRecord = (uid: string, error: unknown, outline: Outline) => void

/** What the columns of a record say, whether or not the rest of it can be read. */
export type Outline = Omit<Resource, 'metadata' | 'spec' | 'internal'>

export interface Listed {
  readonly items: Resource[]
  readonly hasMore: boolean
  /** Of the last row, which may be one that cannot be read; undefined when there is none. */
  readonly last?: Position
  /** Names of those that cannot be read and are left out. */
  readonly unreadable: readonly string[]
}

export interface Resources {
  get(key: Key): Promise<Resource | undefined>
  getByUid(uid: string): Promise<Resource | undefined>
  /** Newest with that external id and none of `exceptStatuses`. */
  getByExternalId(
    kind: string,
    workspace: string,
    externalId: string,
    exceptStatuses: readonly string[],
  ): Promise<Resource | undefined>
  /** Also of a record that cannot be read. */
  outline(key: Key): Promise<Outline | undefined>
  list(listing: Listing): Promise<Listed>
  /** All in the workspace, whatever the filters. */
  count(kind: string, workspace: string, parent?: string): Promise<number>
  /**
   * Across workspaces; for reconcilers at start-up only. Rows that cannot be read are given to `unreadable` and left out; without it the first
   * of them is thrown.
   */
  everyOf(kind: string, unreadable?: UnreadableRecord): Promise<Resource[]>
  /** Oldest first. */
  events(uid: string): Promise<ResourceEvent[]>
  /** Which resource of that kind and workspace has the claim. */
  claimant(kind: string, workspace: string, claim: string): Promise<Resource | undefined>
  /** The one with a claim that is nobody else's in any workspace. */
  byClaim(kind: string, claim: string): Promise<Resource | undefined>
  /** Who names the target, by kind and name; at most `limit`. */
  usages(target: Key, limit: number): Promise<Usage[]>
  /** How many resources of each kind name the target; kinds of which none does are left out. */
  usageCounts(target: Key): Promise<Readonly<Record<string, number>>>
}

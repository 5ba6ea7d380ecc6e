/** What was done, by whom, and in which order: rows that are only ever added, each bound to the one before by a hash. */

/** Who did it, and how they asked. */
export interface AuditedBy {
  /** Name of the credential's holder; '' for somebody unknown. */
  readonly actor: string
  /** Id of the credential; '' for none, or for the library. */
  readonly credential: string
  /** Where it came from: an address; '' in process. */
  readonly remote: string
  readonly requestId: string
}

export interface AuditEntry extends AuditedBy {
  /** '' for what belongs to no workspace. */
  readonly workspace: string
  /** '' when it follows from the workspace, or nobody knows. */
  readonly account: string
  /** `create`, `update`, `delete`, another event of a record, `reveal`, or `denied`. */
  readonly action: string
  /** What it was done to; '' where nothing was. */
  readonly kind: string
  /** With the names of what it lives inside: `web/p1`. */
  readonly name: string
  readonly uid: string
  /** More of it, never a secret: fields that changed, how often it was denied. */
  readonly detail: Readonly<Record<string, unknown>>
}

export interface AuditRecord extends AuditEntry {
  /** 1, 2, 3, … without a gap. */
  readonly seq: number
  /** Epoch ms. */
  readonly time: number
  /** SHA-256 in hex over the hash before and this row. */
  readonly hash: string
}

export interface AuditQuery {
  readonly account: string
  /** That one only. */
  readonly workspace?: string | undefined
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly kind?: string | undefined
  readonly name?: string | undefined
  /** Epoch ms, both included. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** Older than this one. */
  readonly before?: number | undefined
  readonly limit: number
}

/** Where the chain ends. */
export interface AuditHead {
  readonly seq: number
  readonly hash: string
}

/** What a look at the whole chain found. */
export interface AuditVerdict {
  readonly head: AuditHead
  /** The first row that is not as it was written, and what is wrong with it. */
  readonly broken?: { readonly seq: number; readonly reason: string }
}

/** A part of a listing. */
export interface AuditPage {
  /** Newest first. */
  readonly records: readonly AuditRecord[]
  /** Where the next part begins (`before`), which there may be although this one is short; undefined at the end. */
  readonly next: number | undefined
}

export interface Audit {
  list(query: AuditQuery): Promise<AuditPage>
  append(entries: readonly AuditEntry[], now: number): Promise<void>
  /** Zero and '' before the first row. */
  head(): Promise<AuditHead>
  /** Reads every row. With `known`, that row must still be there as it was: a cut tail shows. */
  verify(known?: AuditHead): Promise<AuditVerdict>
}

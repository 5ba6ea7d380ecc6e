import type { Resource } from '../store/store.ts'
import type { DataPlane } from './kind.ts'

/** What a revision says of its servers. */
export interface Served {
  /** Where one listens. */
  readonly port: number
  /** Calls that one machine is given at once. */
  readonly concurrency: number
  /** Machines that are kept running, and machines at most. */
  readonly minScale: number
  readonly maxScale: number
}

/** A call that is acknowledged at once. */
export interface Later {
  readonly timeoutMs: number
  readonly callback?: { readonly url: string; readonly secret: string; readonly retry: number }
  /** What it is billed as, each. */
  readonly dimension: string
}

/** A kind whose records are servers of the customer's: calls to its address, of the forms of a data plane, go to what listens in its machines. */
export interface ServerPlane extends DataPlane {
  /** Anybody may call it at that path. */
  isPublic(record: Resource, path: string): boolean
  /** How a call with that path and query is made afterwards, and reported; undefined for one whose answer is waited for. */
  later?(record: Resource, path: string, search: URLSearchParams): Later | undefined
  contentOf(record: Resource, revision: string): Served
}

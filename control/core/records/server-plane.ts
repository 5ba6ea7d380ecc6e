import type { Resource } from '../store/store.ts'
import type { DataPlane } from './kind.ts'

/** A kind whose records are servers of the customer's: calls to its address, of the forms of a data plane, go to what listens in its machines. */
export interface ServerPlane extends DataPlane {
  /** Anybody may call it. */
  isPublic(record: Resource): boolean
  /** Where the server of a revision listens. */
  portOf(record: Resource, revision: string): number
}

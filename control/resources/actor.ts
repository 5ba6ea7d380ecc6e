/** Who acts on resources, and with what. */
import type { Clock } from '../../shared/clock.ts'
import type { Ids } from '../../shared/ids.ts'
import type { Cursors } from '../wire/cursors.ts'
import type { Resource, Store } from '../store/store.ts'
import type { Kind } from './kind.ts'

export interface CrudDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly cursors: Cursors
  /** Every kind of this host; children are found here. */
  readonly kinds: readonly Kind[]
  /** Tells the reconciler that a resource changed or went; must not throw and must not wait. */
  poke(kind: string, uid: string): void
  /** Absolute address of the resource's data plane, without a trailing slash; undefined for kinds that have none. */
  url(resource: Resource): string | undefined
  /** Billing plan that metadata shows. */
  readonly plan: string
}

/** Who acts, and where. */
export interface Actor {
  readonly workspace: string
  /** Recorded in createdBy and updatedBy. */
  readonly name: string
  readonly admin: boolean
}

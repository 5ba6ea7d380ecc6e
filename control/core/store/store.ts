/**
 * What the control plane remembers.
 *
 *     accounts      id, display_name
 *     workspaces    name PK, id, account, display_name, labels JSON, deleted_at|null
 *     api_keys      id PK, hash UNIQUE, name, account, workspace|null, role, expires_at|null, scopes JSON|null,
 *                   owner: uid of the resource it goes with | null
 *     resources     uid PK, kind, workspace, parent, name, version, status, external_id|null, body JSON, times
 *                   one live row per (kind, workspace, parent, name); every kind shares the table
 *     refs          uid, field → kind, workspace, parent, name        which resource names which other one, and where
 *     claims        kind, workspace, claim PK → uid                   what only one resource of a kind may have
 *     instances     id PK, owner (uid, kind, workspace, parent, name), revision, driver, version, status,
 *                   address JSON, image JSON, times, attempts, errors JSON, body JSON
 *     events        resource uid, time, type, status, message, revision|null, canary_revision|null
 *     intervals     instance id, workspace, type, name, dimension, quantity, from, to|null (open), accounted_to
 *     rollups       hour, workspace, type, name, id, dimension, usage         computed from intervals
 *     audit         seq PK, time, who, what, to what, detail JSON, hash over the hash before and the row: only added to
 *     schedule_runs seq PK, id, owner (uid of a resource), schedule, status, times, error: the newest of each schedule
 *     model_calls   id PK, time, workspace, model, key, provider, tokens, estimated, failure, ttft_ms|null, cost_nanos|null    a row a call
 *     oauth_records type, id PK (a hash), payload (sealed), grant_id, uid, user_code, consumed_at, expires_at
 *     signing_keys  kid PK, sealed, created_at
 *     people        sub PK, account, email UNIQUE, name, password (scrypt)|null, account_admin, email_proven, sessions_from
 *     memberships   uid PK (of a resource), sub, workspace, role    what a person is in a workspace
 *     identities    issuer, subject PK → sub                        who a person is elsewhere
 *     mails         id PK, sealed, due_at, attempts, expires_at     that are to be sent
 *     links         hash PK, purpose, subject, expires_at             good once
 *     meta          key, value
 *
 * **Owners and instances.** A resource is a record; what runs for it on the box is its *instances*, none to many. A
 * machine's id, driver, address and state are the instance's; a resource knows nothing of them.
 *
 * **Transactions.** Every method is one whole transaction: when it resolves, what it wrote survives `kill -9`. Resources
 * and instances are written by `Transactions.apply` alone, a list of writes that happens whole or not at all. It is data
 * and takes no callback: methods are asynchronous because the next backend is a server.
 *
 * Lists are scoped by workspace in the query itself. Times are epoch milliseconds.
 */
import type { Audit } from './audit.ts'
import type { Identity } from './identity.ts'
import type { Instances } from './instances.ts'
import type { Meter } from './meter.ts'
import type { ModelUsage } from './model-usage.ts'
import type { Resources } from './resources.ts'
import type { Schedules } from './schedules.ts'
import type { Tenants } from './tenants.ts'
import type { Upkeep } from './upkeep.ts'
import type { Transactions } from './writes.ts'

export type * from './audit.ts'
export type * from './identity.ts'
export type * from './instances.ts'
export type * from './meter.ts'
export type * from './model-usage.ts'
export type * from './resources.ts'
export type * from './schedules.ts'
export type * from './tenants.ts'
export type * from './upkeep.ts'
export type * from './writes.ts'

/** What everybody is given: it can be read, and what concerns neither resources nor instances can be written. */
export interface Store {
  readonly resources: Resources
  readonly instances: Instances
  readonly tenants: Tenants
  readonly meter: Meter
  readonly modelUsage: ModelUsage
  readonly audit: Audit
  readonly identity: Identity
  readonly schedules: Schedules
  readonly upkeep: Upkeep
  /**
   * The same as before only while nothing at all has been written, by whomever: what was looked up since it was is what would be found
   * now. Asked before the look-ups that it is to vouch for. A backend that cannot say at once says another one each time.
   */
  moment(): number
  close(): Promise<void>
}

/** What the one writer of resources and instances is given (`reconcile/transition.ts`). */
export type WritableStore = Store & Transactions

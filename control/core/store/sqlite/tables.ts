/** Rows as SQLite holds them; `migrations/` holds the same as SQL. Times are epoch milliseconds. */
import type { Generated } from 'kysely'
import type { IdentityTables } from './identity-tables.ts'

export interface AccountRow {
  id: string
  display_name: string
  created_at: number
}

export interface WorkspaceRow {
  name: string
  id: string
  account: string
  display_name: string
  /** JSON map. */
  labels: string
  created_by: string
  updated_by: string
  created_at: number
  updated_at: number
  deleted_at: number | null
}

export interface ApiKeyRow {
  id: string
  hash: string
  name: string
  account: string
  workspace: string | null
  role: 'admin' | 'member'
  account_admin: number
  created_at: number
  expires_at: number | null
  /** JSON list; null for all. */
  scopes: string | null
  /** Uid of the resource it goes with. */
  owner: string | null
  /** JSON of { sub, label, expiresIn }. */
  person: string | null
  default_workspace: string | null
  last_used_at: number | null
}

export interface ResourceRow {
  uid: string
  kind: string
  workspace: string
  parent: string
  name: string
  version: number
  status: string
  external_id: string | null
  /** JSON of { metadata, spec, internal }. */
  body: string
  /** What `q` looks through: lower-cased name, display name, label keys and values, one a line. */
  search: string
  created_at: number
  updated_at: number
}

/** A machine; JSON in address ({ host, port }), image ({ digest, rootfs }), errors and body. */
export interface InstanceRow {
  id: string
  /** Uid of the record it runs for, and that record's key. */
  owner: string
  kind: string
  workspace: string
  parent: string
  name: string
  revision: string
  driver: string
  version: number
  status: string
  address: string | null
  image: string | null
  created_at: number
  started_at: number | null
  turned_at: number | null
  last_used_at: number | null
  attempts: number
  errors: string
  /** JSON of { memoryMb, heldBytes }. */
  body: string
}

/** A run of a scheduled command; `catch_up` is 0 or 1. */
export interface ScheduleRunRow {
  id: string
  /** Uid of a resource. */
  owner: string
  workspace: string
  sandbox: string
  /** Name of the schedule. */
  entry: string
  status: string
  status_code: number
  process_name: string
  timeout_s: number
  error: string
  catch_up: number
  due_at: number
  created_at: number
}

/** What only resource `uid` of its kind and workspace has. */
export interface ClaimRow {
  kind: string
  workspace: string
  claim: string
  uid: string
}

/** Resource `uid`, of kind `by_kind`, names another one in its `field`. */
export interface RefRow {
  uid: string
  field: string
  workspace: string
  kind: string
  parent: string
  name: string
  by_kind: string
}

export interface EventRow {
  id: Generated<number>
  uid: string
  time: number
  type: string
  status: string
  message: string
  revision: string | null
  canary_revision: string | null
}

/** Whoever has ever been metered; outlives its resource. */
export interface SubjectRow {
  id: Generated<number>
  uid: string
  workspace: string
  resource_type: string
  name: string
}

export interface DimensionRow {
  id: Generated<number>
  name: string
}

export interface IntervalRow {
  id: Generated<number>
  subject: number
  dimension: number
  /** In `quantaPerUnit` of a unit. */
  quantity: number
  from_at: number
  to_at: number | null
  /** The subject is known to have held this quantity until here; where a crash closes the interval. */
  accounted_to: number
  /** How far the rollups contain it. */
  rolled_to: number
}

/** Hour 0, day 1, month 2. */
export type Grain = 0 | 1 | 2

export interface RollupRow {
  grain: Grain
  workspace: string
  start: number
  subject: number
  dimension: number
  /** Quanta × milliseconds, as high × 2^32 + low; low is not reduced when rows are added up. */
  high: number
  low: number
}

/** What was done by whom; only added to. */
export interface AuditRow {
  seq: number
  time: number
  account: string
  workspace: string
  actor: string
  credential: string
  remote: string
  request_id: string
  action: string
  kind: string
  name: string
  uid: string
  /** JSON map. */
  detail: string
  hash: string
}

/** Rollups summed over the subjects of a type. */
export interface TotalRow {
  grain: Grain
  workspace: string
  start: number
  resource_type: string
  dimension: number
  high: number
  low: number
}

export interface CountRow {
  kind: string
  workspace: string
  parent: string
  count: number
}

/** A call of a model. */
export interface ModelCallRow {
  id: string
  time: number
  account: string
  workspace: string
  model_uid: string
  model_name: string
  served: string
  key: string
  key_name: string
  provider: string
  provider_model: string
  status: number
  input_tokens: number
  output_tokens: number
  cached_tokens: number
  reasoning_tokens: number
  estimated: number
  failure: string
  ttft_ms: number | null
  duration_ms: number
  cost_nanos: number | null
}

export interface Tables extends IdentityTables {
  accounts: AccountRow
  workspaces: WorkspaceRow
  api_keys: ApiKeyRow
  resources: ResourceRow
  refs: RefRow
  claims: ClaimRow
  counts: CountRow
  instances: InstanceRow
  events: EventRow
  subjects: SubjectRow
  dimensions: DimensionRow
  intervals: IntervalRow
  rollups: RollupRow
  totals: TotalRow
  audit: AuditRow
  schedule_runs: ScheduleRunRow & { seq: Generated<number> }
  model_calls: ModelCallRow
  meta: { key: string; value: string }
}

import type { Migration } from '../migrate.ts'
import { start } from './0001-start.ts'
import { counts } from './0002-counts.ts'
import { instances } from './0003-instances.ts'
import { keysAndRevisions } from './0004-keys-revisions.ts'
import { keyUse } from './0005-key-use.ts'
import { audit } from './0006-audit.ts'
import { claimsEverywhere } from './0007-claims.ts'
import { identity } from './0008-identity.ts'
import { people } from './0009-people.ts'
import { auditOrder } from './0010-audit-order.ts'
import { schedules } from './0011-schedules.ts'
import { modelUsage } from './0012-model-usage.ts'

/** In order, forward only. A new one is a file and a line here; a landed one never changes. */
export const migrations: readonly Migration[] = [
  start,
  counts,
  instances,
  keysAndRevisions,
  keyUse,
  audit,
  claimsEverywhere,
  identity,
  people,
  auditOrder,
  schedules,
  modelUsage,
]

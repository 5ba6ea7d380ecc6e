/** Shapes of revisions, and the listing of a record's. */
import { s, text } from '../../../shared/schema.ts'
import type { Action } from '../records/action.ts'
import { reachedBy } from '../workloads/reached.ts'
import { revisionsOf, trafficOf } from '../records/revisions.ts'

const percent = s.nullish(s.int().check(s.gte(0), s.lte(100)))

/** `spec.revision`. */
export const revisionConfig = s.object({
  active: s.nullish(text(64)),
  canary: s.nullish(text(64)),
  canaryPercent: percent,
  stickySessionTtl: s.nullish(s.int().check(s.gte(0))),
  traffic: percent,
})

/** The last five are kept. */
export const lastFive = { kept: 5 } as const

/** `GET …/revisions` for those with the scope; newest first. */
export const listRevisions = (scope: string): Action => ({
  name: 'revisions',
  summary: 'Lists the revisions that are kept, newest first',
  method: 'GET',
  path: 'revisions',
  on: 'record',
  access: { scope, role: 'member' },
  returns: s.array(
    s.object({
      id: s.string(),
      active: s.boolean(),
      canary: s.boolean(),
      previousActive: s.boolean(),
      status: s.string(),
      trafficPercent: s.int(),
      createdAt: s.string(),
      createdBy: s.string(),
    }),
  ),
  async run(_context, { found }) {
    if (!found) return []
    const { record } = found
    const { all, previousActive } = revisionsOf(record)
    const { active, canary, canaryPercent = 0 } = trafficOf(record.spec)
    const share = canary ? canaryPercent : 0
    const intended = (id: string) => ({
      status: id === active || id === canary ? record.status : 'DEACTIVATED',
      trafficPercent: id === active ? 100 - share : id === canary ? share : 0,
    })
    return all.toReversed().map(({ id, createdAt, createdBy }) => ({
      id,
      active: id === active,
      canary: id === canary,
      previousActive: id === previousActive,
      ...(reachedBy(record, id) ?? intended(id)),
      createdAt,
      createdBy,
    }))
  },
})

/** Machines that are made ahead of need, for whoever runs this host. */
import { handle, route, type Bound } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import type { Access } from '../../core/access/access.ts'
import type { Warm } from '../../core/machines/warm/warm.ts'

export const listWarmPools = route('GET /v0/warm-pools', {
  id: 'warmPools.list',
  family: 'warm pools',
  summary: 'Tells which machines are made ahead of need, and how many are ready',
  returns: s.object({
    obstacle: s.optional(s.string()),
    pools: s.array(
      s.object({
        image: s.string(),
        configured: s.int(),
        demanded: s.int(),
        ready: s.int(),
        starting: s.int(),
        problem: s.optional(s.string()),
      }),
    ),
    claimed: s.int(),
    missed: s.int(),
  }),
  errors: ['unauthenticated', 'forbidden', 'internal'],
  extra: { tenant: 'none', access: { scope: 'warm-pools:list', role: 'account' } satisfies Access },
})

export const warmRoutes = (warm: Pick<Warm, 'report'>): Bound[] => [handle(listWarmPools, async () => warm.report())]

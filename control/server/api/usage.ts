/** What a resource's machines use of this box now. */
import { handle, route, type Bound } from '../../../shared/route.ts'
import { s } from '../../../shared/schema.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import { accessFor, paramOf, pathOf } from '../../core/records/address.ts'
import type { Kind } from '../../core/records/kind.ts'
import type { Instance, Store } from '../../core/store/store.ts'
import { namedRecord, paramsFor } from './named-record.ts'
import { tenantQuery } from './paging.ts'

export interface UsageDeps {
  readonly store: Pick<Store, 'resources' | 'instances'>
  readonly drivers: Pick<Drivers, 'need'>
}

const usage = s.object({
  memoryBytes: s.optional(s.int()),
  cpuMs: s.optional(s.int()),
  diskBytes: s.optional(s.int()),
  diskLimitBytes: s.optional(s.int()),
})

/** The endpoint of a kind whose machines have room on the disk. */
export const declareUsage = (kind: Kind) =>
  route(`GET ${pathOf(kind)}/:${paramOf(kind)}/usage`, {
    id: `${kind.plural}.usage`,
    family: kind.plural,
    summary: `Tells what a ${kind.kind} uses of memory, processor and disk now, without waking it`,
    extra: { access: accessFor(kind, 'get') },
    params: paramsFor(kind),
    query: s.object(tenantQuery),
    returns: usage,
    errors: ['invalid_argument', 'unauthenticated', 'forbidden', 'not_found', 'driver_failed', 'timed_out', 'internal'],
  })

/** Of one machine; nothing of one that is gone. */
const usedBy = async ({ drivers }: UsageDeps, { id, driver: name }: Pick<Instance, 'id' | 'driver'>) => {
  const driver = drivers.need(name)
  const [stats, share] = await Promise.all([driver.stats(id), driver.storage?.share(id)])
  return {
    ...(stats && { memoryBytes: stats.memoryBytes, cpuMs: Math.round(stats.cpuMs) }),
    ...(share && { diskBytes: share.usedBytes, diskLimitBytes: share.mostBytes }),
  }
}

export const usageRoutes = (kind: Kind, deps: UsageDeps): Bound[] => [
  handle(declareUsage(kind), async ({ params }, context) => {
    const { store } = deps
    const { uid } = await namedRecord(kind, store, { params, context })
    const parts = await Promise.all((await store.instances.ofOwner(uid)).map(instance => usedBy(deps, instance)))
    // While it is deployed anew it has two machines.
    const sums = new Map<string, number>()
    for (const [name, value] of parts.flatMap(part => Object.entries(part)))
      sums.set(name, (sums.get(name) ?? 0) + value)
    return Object.fromEntries(sums)
  }),
]

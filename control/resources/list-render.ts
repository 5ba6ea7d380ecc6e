/** Records of a listing in the form they are answered in. */
import type { Instance, Resource, ResourceEvent } from '../store/store.ts'
import { presenting, usageOf, type Context } from './context.ts'
import { statusOf } from './kind.ts'
import { present, rendered, type Presented } from './present.ts'

/** Instances by the uid of their owner. */
const instancesOf = async (
  { kind, store }: Context,
  records: readonly Resource[],
): Promise<Map<string, Instance[]>> => {
  const byOwner = new Map<string, Instance[]>()
  if (!kind.workload || records.length === 0) return byOwner
  for (const instance of await store.instances.ofOwners(records.map(({ uid }) => uid))) {
    const { uid } = instance.owner
    byOwner.set(uid, [...(byOwner.get(uid) ?? []), instance])
  }
  return byOwner
}

/** `hide` leaves out those whose time is over by now. */
export const render = async (context: Context, hide: boolean, records: readonly Resource[]): Promise<Presented[]> => {
  const { kind, store, clock } = context
  const now = clock.now()
  const instances = await instancesOf(context, records)
  const shown = records
    .map(record => ({ record, instances: instances.get(record.uid) ?? [] }))
    .filter(found => !hide || !kind.hiddenStatuses.includes(statusOf(kind, found, now)))
  const events: (ResourceEvent[] | undefined)[] =
    kind.listsEvents && kind.life
      ? await Promise.all(shown.map(({ record }) => store.resources.events(record.uid)))
      : []
  const usages = await Promise.all(shown.map(({ record }) => usageOf(context, record)))
  return shown.map((found, index) => {
    const known = { ...(events[index] ? { events: events[index] } : {}), ...usages[index] }
    return rendered(kind, present(kind, found, { ...presenting(context, found.record, false), ...known }), found)
  })
}

/** Records of a listing in the form they are answered in. */
import type { Instance, Resource, ResourceEvent } from '../store/store.ts'
import type { Context } from './context.ts'
import { statusOf } from './kind.ts'
import { present, type Presented } from './present.ts'

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
  const { kind, store, clock, plan, url } = context
  const now = clock.now()
  const instances = await instancesOf(context, records)
  const shown = records
    .map(record => ({ record, instances: instances.get(record.uid) ?? [] }))
    .filter(found => !hide || !kind.hiddenStatuses.includes(statusOf(kind, found, now)))
  const events: (ResourceEvent[] | undefined)[] = kind.listsEvents
    ? await Promise.all(shown.map(({ record }) => store.resources.events(record.uid)))
    : []
  return shown.map((found, index) =>
    present(kind, found, {
      showSecrets: false,
      now,
      plan,
      url: url(found.record),
      ...(events[index] ? { events: events[index] } : {}),
    }),
  )
}

/** Records of a listing in the form they are answered in. */
import type { Instance, Resource, ResourceEvent } from '../store/store.ts'
import { presenting, usageOf, type Context } from './context.ts'
import { statusOf } from './kind.ts'
import { present, rendered, type Presented } from './present.ts'

/** Instances by the uid of their owner, and the owners of those that cannot be read. */
const instancesOf = async ({ kind, store }: Context, records: readonly Resource[]) => {
  const byOwner = new Map<string, Instance[]>()
  const torn = new Set<string>()
  if (!kind.workload || records.length === 0) return { byOwner, torn }
  const uids = records.map(({ uid }) => uid)
  for (const instance of await store.instances.ofOwners(uids, owner => void torn.add(owner))) {
    const { uid } = instance.owner
    byOwner.set(uid, [...(byOwner.get(uid) ?? []), instance])
  }
  return { byOwner, torn }
}

/**
 * `hide` leaves out those whose time is over by now. Those of whose machines a row cannot be read are shown as if they had none, and named in
 * `unreadable`.
 */
export const render = async (
  context: Context,
  hide: boolean,
  records: readonly Resource[],
): Promise<{ readonly data: Presented[]; readonly unreadable: readonly string[] }> => {
  const { kind, store, clock } = context
  const now = clock.now()
  const { byOwner, torn } = await instancesOf(context, records)
  const shown = records
    .map(record => ({ record, instances: byOwner.get(record.uid) ?? [] }))
    .filter(found => !hide || !kind.hiddenStatuses.includes(statusOf(kind, found, now)))
  const events: (ResourceEvent[] | undefined)[] =
    kind.listsEvents && kind.life
      ? await Promise.all(shown.map(({ record }) => store.resources.events(record.uid)))
      : []
  const usages = await Promise.all(shown.map(({ record }) => usageOf(context, record)))
  const data = shown.map((found, index) => {
    const known = { ...(events[index] ? { events: events[index] } : {}), ...usages[index] }
    return rendered(kind, present(kind, found, { ...presenting(context, found.record, false), ...known }), found)
  })
  return { data, unreadable: shown.flatMap(({ record }) => (torn.has(record.uid) ? [record.name] : [])) }
}

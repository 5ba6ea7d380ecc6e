/** Sees to it that a record has the instances it wants and ends when its time is over, a step at a time. */
import { isUp } from '../transitions/instance-life.ts'
import type { Outcome, Reconcile } from '../transitions/loop.ts'
import type { Rules } from '../transitions/rules.ts'
import { onNewest } from '../transitions/transition.ts'
import { unwantedOf } from '../transitions/unwanted.ts'
import type { Instance, Resource } from '../store/store.ts'
import { allows, longestWaitMs, type Context } from './context.ts'
import { fromSpare, taking } from './take.ts'

interface Looked {
  readonly owner: Resource
  readonly instances: readonly Instance[]
  readonly rules: Rules
}

/** Stops instances that the record does not want and adds those that it lacks; resolves with the ids of the new ones. */
const scale = async (context: Context, { owner, instances, rules }: Looked): Promise<readonly string[]> => {
  const { workload } = rules
  if (!workload) return []
  const { transition, ids, drivers, clock } = context
  const unwanted = unwantedOf(owner, instances, workload)
  const staying = instances.filter(one => one.status !== 'stopping' && !unwanted.includes(one))
  const lacking = Math.max(0, workload.instances(owner) - staying.length)
  const count = Math.min(lacking, workload.mayMake?.(owner) ?? lacking)
  if (unwanted.length + count === 0) return []
  const { uid, kind, workspace, parent, name } = owner
  const whose = { owner: { uid, kind, workspace, parent, name }, revision: workload.revision(owner) }
  return fromSpare(context, { owner, workload, count }, async ({ machines, image }) => {
    const made = Array.from({ length: count - machines.length }, () => ids.uuid())
    await transition.write([
      { expect: owner },
      ...unwanted.map(instance => ({ instance, event: 'stop' as const })),
      ...machines.map(instance => taking(instance, { ...whose, image }, clock.now())),
      ...made.map(id => ({ add: { ...whose, id, driver: drivers.preferred.name } })),
    ])
    return [...machines.map(({ id }) => id), ...made]
  })
}

/** Ends a record whose time is over; undefined when it is not, else look again then. */
const expire = async (context: Context, { owner, instances, rules }: Looked): Promise<number | undefined> => {
  const expiry = allows(context, owner, 'expire') ? rules.expiry?.(owner, instances) : undefined
  if (!expiry) return longestWaitMs
  const left = expiry.at - context.clock.now()
  if (left > 0) return left
  await context.transition.write([{ record: owner, event: { name: 'expire', message: `expired: ${expiry.rule}` } }])
  return undefined
}

/** Forgets a record that has been over for long enough; undefined when it is gone, else look again then. */
const forget = async (context: Context, { owner, rules }: Looked): Promise<number | undefined> => {
  if (!rules.hiddenStatuses.includes(owner.status)) return longestWaitMs
  const { terminatedAt = owner.updatedAt } = owner.internal as { terminatedAt?: number }
  const left = terminatedAt + (rules.retentionMs?.(owner) ?? 0) - context.clock.now()
  if (left > 0) return left
  await context.transition.write([{ remove: owner }])
  return undefined
}

const step = async (context: Context, looked: Looked): Promise<Outcome | undefined> => {
  const { owner, instances } = looked
  const expiresInMs = await expire(context, looked)
  if (expiresInMs === undefined) return { againMs: 0 }
  const added = await scale(context, looked)
  const underWay = instances.filter(one => !isUp(one) || context.configurer.isDue(one)).map(({ id }) => id)
  for (const id of [...underWay, ...added]) context.pokeInstance(id)
  if (instances.length + added.length === 0 && allows(context, owner, 'gone')) {
    await context.transition.write([
      { record: owner, event: { name: 'gone', message: 'everything it held on the box is given back' } },
    ])
    return { againMs: 0 }
  }
  const forgottenInMs = await forget(context, looked)
  return forgottenInMs === undefined ? undefined : { againMs: Math.min(expiresInMs, forgottenInMs, longestWaitMs) }
}

export const reconcileOwner =
  (context: Context): Reconcile =>
  uid =>
    onNewest(async () => {
      const { store, rules, pokeInstance } = context
      const owner = await store.resources.getByUid(uid)
      const instances = await store.instances.ofOwner(uid)
      const found = owner && rules.get(owner.kind)
      if (owner && found) return step(context, { owner, instances, rules: found })
      // Nobody wants them: each finds that out by itself.
      for (const { id } of instances) pokeInstance(id)
      return undefined
    })

/** Sees to it that a record has the instances it wants and ends when its time is over, a step at a time. */
import { isUp } from '../transitions/instance-life.ts'
import type { Outcome, Reconcile } from '../transitions/loop.ts'
import type { Rules, Wanted, Workload } from '../transitions/rules.ts'
import { onNewest } from '../transitions/transition.ts'
import { lackingOf, unwantedOf } from '../transitions/unwanted.ts'
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
  const unwanted = unwantedOf(owner, instances, workload)
  const [first, ...others] = lackingOf(owner, instances, workload)
  const added = [...(await exchange(context, { owner, workload }, unwanted, first))]
  for (const lacking of others) added.push(...(await exchange(context, { owner, workload }, [], lacking)))
  return added
}

/** Stops some and adds those of one revision that it lacks, in one transaction. */
const exchange = async (
  context: Context,
  { owner, workload }: { readonly owner: Resource; readonly workload: Workload },
  unwanted: readonly Instance[],
  { revision, count: lacking }: Wanted = { revision: '', count: 0 },
): Promise<readonly string[]> => {
  const { transition, ids, drivers, clock } = context
  const count = Math.min(lacking, workload.mayMake?.(owner) ?? lacking)
  if (unwanted.length + count === 0) return []
  const { uid, kind, workspace, parent, name } = owner
  const whose = { owner: { uid, kind, workspace, parent, name }, revision }
  return fromSpare(context, { owner, workload, revision, count }, async ({ machines, image }) => {
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

/** What is due for the record by what its machines are; undefined when it was done, else look again then. */
const settle = async (context: Context, { owner, instances, rules }: Looked): Promise<number | undefined> => {
  const { step, againMs = longestWaitMs } = rules.workload?.settle?.(owner, instances, context.clock.now()) ?? {}
  if (!step) return againMs
  const { event, internal } = step
  const change = internal ? { change: { internal: { ...owner.internal, ...internal } } } : {}
  await context.transition.write([{ record: owner, ...(event ? { event } : {}), ...change }])
  return undefined
}

const step = async (context: Context, looked: Looked): Promise<Outcome | undefined> => {
  const { owner, instances } = looked
  const expiresInMs = await expire(context, looked)
  const settledInMs = expiresInMs === undefined ? undefined : await settle(context, looked)
  if (expiresInMs === undefined || settledInMs === undefined) return { againMs: 0 }
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
  const againMs = Math.min(expiresInMs, settledInMs, forgottenInMs ?? longestWaitMs, longestWaitMs)
  return forgottenInMs === undefined ? undefined : { againMs }
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

/** What an earlier host has left on the box is taken over. */
import { isError } from '../../../shared/errors.ts'
import { isUp } from '../transitions/instance-life.ts'
import type { Instance } from '../store/store.ts'
import type { Context } from './context.ts'

/** Machines of before drivers were written down are of the configured one, as they were then. */
const withDriver = async ({ store, transition, log }: Context, configured: string): Promise<Instance[]> => {
  const unreadable = (instance: string, error: unknown) => log.error('instance.unreadable', { instance, error })
  const unknown = (await store.instances.every(unreadable)).filter(({ driver }) => driver === '')
  for (const instance of unknown) await transition.write([{ instance, change: { driver: configured } }])
  // Said once.
  return store.instances.every(() => {})
}

/**
 * What was found ran or slept until now, also while there was no host: a host that is killed again before its first checkpoint loses nothing
 * of that. When the others ended nobody saw.
 */
const accountFound = async ({ store, census, clock }: Context, all: readonly Instance[]): Promise<void> => {
  const runs = (id: string): boolean => ['running', 'frozen'].includes(census.found(id)?.phase ?? '')
  const gone = all.filter(({ id }) => !runs(id))
  await store.meter.checkpoint(
    clock.now(),
    gone.map(({ id }) => id),
  )
}

/** Looks at the box and goes on with what is up; returns all instances there are. Throws when a driver cannot look. */
export const adopt = async (context: Context, configured: string): Promise<Instance[]> => {
  const { store, rules, census, standby, log } = context
  const instances = await withDriver(context, configured)
  const { failures } = await census.survey()
  if (failures.length > 0) throw failures[0]
  for (const instance of instances) {
    const machine = census.found(instance.id)
    if (!machine || !isUp(instance)) continue
    const owner = await store.resources.getByUid(instance.owner.uid).catch((error: unknown) => {
      if (!isError(error, 'unavailable')) throw error
      log.error('record.unreadable', { record: instance.owner.uid, error })
      return 'unreadable' as const
    })
    if (owner === 'unreadable') {
      // Nobody knows when it sleeps; the others are not to wait for it.
      await standby.up(instance, machine, undefined)
      continue
    }
    const workload = owner && rules.get(owner.kind)?.workload
    if (workload) await standby.up(instance, machine, workload.standby(owner, instance))
  }
  await accountFound(context, instances)
  return instances
}

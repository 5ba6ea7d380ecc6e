/** Ends an instance: its machine goes from the box with all it held, then its row. */
import type { Driver } from '../../drivers/driver.ts'
import type { Outcome } from '../transitions/loop.ts'
import type { Instance } from '../store/store.ts'
import { takeDown, type Context } from './context.ts'
import { remembering } from './history.ts'
import { inRemovalTurn, type Place } from './removals.ts'
import { awaitEnd, forgetEnd } from './terminate.ts'

/** Its processes get the time that its owner gives them. What the record is to remember of its use and its errors is written with the row's removal. */
export const stop = async (
  context: Context,
  { instance, driver }: { readonly instance: Instance; readonly driver: Driver },
  place: Place,
): Promise<Outcome> => {
  const { store, transition, log, pokeOwner } = context
  const { id, owner } = instance
  const waiting = await awaitEnd(context, instance, driver)
  if (waiting) return waiting
  takeDown(context, id)
  await inRemovalTurn(context, place, () => driver.remove(id))
  const record = await store.resources.getByUid(owner.uid)
  await transition.write([
    { drop: instance },
    ...(record ? [{ record, change: { internal: remembering(record, instance) } }] : []),
  ])
  forgetEnd(context, id)
  log.info('instance.stopped', { instance: id, owner: owner.uid, name: owner.name })
  pokeOwner(owner.uid)
  return {}
}

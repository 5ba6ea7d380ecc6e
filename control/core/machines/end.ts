import type { Outcome } from '../transitions/loop.ts'
import { takeDown, type Context, type Subject } from './context.ts'
import { inRemovalTurn, type Place } from './removals.ts'

/** Ends the machine of an instance that is to be restarted; it is started next, with the files it has. */
export const end = async (context: Context, { instance, owner, driver }: Subject, place: Place): Promise<Outcome> => {
  takeDown(context, instance.id)
  await inRemovalTurn(context, place, () => driver.end(instance.id, place.signal))
  await context.transition.write([{ expect: owner }, { instance, event: 'ended', change: { attempts: 0 } }])
  context.log.info('instance.ended', { instance: instance.id, owner: owner.uid, name: owner.name })
  return { againMs: 0 }
}

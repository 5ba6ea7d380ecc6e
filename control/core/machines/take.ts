/** Takes machines that were made ahead of need into a record's possession. */
import { messageOf } from '../../../shared/errors.ts'
import { newInstance } from '../transitions/moves.ts'
import type { MachinePlan, Wanted, Workload } from '../transitions/rules.ts'
import type { Move } from '../transitions/transition.ts'
import type { Instance, Resource } from '../store/store.ts'
import type { Context } from './context.ts'

interface Lacking extends Wanted {
  readonly owner: Resource
  readonly workload: Workload
}

/** What a new machine of the record would be made from; undefined when it cannot be: who makes one says why. */
const planFor = async (
  { clock, log, drivers }: Context,
  { owner, workload, revision }: Lacking,
): Promise<MachinePlan | undefined> => {
  const draft = { id: owner.uid, owner, revision, driver: drivers.preferred.name }
  try {
    return await workload.plan(owner, newInstance(draft, clock.now()))
  } catch (error) {
    log.debug('spare.unplanned', { owner: owner.uid, reason: messageOf(error) })
    return undefined
  }
}

export interface Taken {
  readonly machines: readonly Instance[]
  /** What those become who were made for any image. */
  readonly image: Instance['image'] | undefined
}

/** Calls `use` with those that will do, `count` at most: none when there are none, or the record needs new ones. */
export const fromSpare = async <T>(
  context: Context,
  wanted: Lacking,
  use: (taken: Taken) => Promise<T>,
): Promise<T> => {
  const { spare } = context
  const plan = spare?.asks && wanted.count > 0 ? await planFor(context, wanted) : undefined
  if (!spare || !plan || plan.onlyNew || plan.spec.anonymous) return use({ machines: [], image: undefined })
  const { image } = plan
  return spare.giving(plan, wanted.count, machines => use({ machines, image }))
}

/** From that transaction on, at `now`, it is the record's; what it was to its owner before is forgotten. */
export const taking = (
  instance: Instance,
  whose: Pick<Instance, 'owner' | 'revision'> & Pick<Taken, 'image'>,
  now: number,
): Move => ({
  instance,
  event: 'claimed',
  change: {
    ...whose,
    claimed: true,
    createdAt: now,
    startedAt: undefined,
    turnedAt: undefined,
    lastUsedAt: undefined,
    memoryMb: undefined,
    heldBytes: undefined,
    attempts: 0,
    errors: [],
  },
})

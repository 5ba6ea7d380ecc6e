/** Machines that are made ahead of need though no operator has asked for any: of no image, where the driver can. */
import type { Log } from '../../../../shared/log.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Transition } from '../../transitions/transition.ts'
import type { Store } from '../../store/store.ts'
import { anyImage } from './pool.ts'
import { poolKind } from './pool-kind.ts'

interface Sizes {
  readonly sizes: Readonly<Record<string, number>>
  readonly unasked: number
}

/** `unasked` is 0 where there are none. */
export const withUnasked = <T extends Sizes>(given: T, genericRoot: string | undefined): T =>
  given.unasked > 0 && genericRoot !== undefined
    ? { ...given, sizes: { [anyImage]: given.unasked } }
    : { ...given, unasked: 0 }

interface Deps {
  readonly store: Pick<Store, 'instances'>
  readonly drivers: Pick<Drivers, 'need'>
  readonly transition?: Transition
  readonly log: Log
}

/**
 * A server that made machines unasked, and has no others, leaves none: the next one may never come. Each machine goes before its record, so
 * that after a crash in between the next start finds a record without a machine, and not the other way round.
 */
export const leaveNone = async ({ store, drivers, transition, log }: Deps): Promise<void> => {
  const others: unknown[] = []
  const instances = await store.instances.every(id => others.push(id))
  others.push(...instances.filter(({ owner }) => owner.kind !== poolKind))
  if (others.length > 0 || !transition) return
  await Promise.all(
    instances.map(async instance => {
      await drivers.need(instance.driver).remove(instance.id)
      await transition.write([{ drop: instance }])
    }),
  )
  if (instances.length > 0) log.info('warm.left', { machines: instances.length })
}

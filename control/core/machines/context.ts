import type { Clock } from '../../../shared/clock.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Log } from '../../../shared/log.ts'
import type { ChannelKeys } from '../channel/keys.ts'
import type { Driver } from '../../drivers/driver.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { RulesByKind, Workload } from '../transitions/rules.ts'
import type { Move, Transition } from '../transitions/transition.ts'
import type { Address, Instance, InstanceError, Resource, Store } from '../store/store.ts'
import type { Census } from './census.ts'
import type { Configurer } from './configure.ts'
import type { Observer } from './observer.ts'
import type { ClaimDaemon, Spare } from './spare.ts'
import type { Standby } from './standby/standby.ts'
import type { Removing } from './removals.ts'
import type { Endings } from './terminate.ts'

/** What the steps of reconciling share. */
export interface Context {
  readonly store: Store
  readonly drivers: Drivers
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly rules: RulesByKind
  readonly transition: Transition
  readonly census: Census
  readonly channelKeys: Pick<ChannelKeys, 'forStart'>
  readonly standby: Standby
  readonly configurer: Omit<Configurer, 'written'>
  readonly spare: Spare | undefined
  readonly claimDaemon: ClaimDaemon
  /** The daemon of that machine will be asked, within so many ms; Infinity where nobody knows when. */
  readonly expectUse?: ((address: Address, withinMs: number) => void) | undefined
  readonly observer: Observer
  readonly endings: Endings
  readonly removals: Removing['removals']
  /** Asks the daemon that answers there to end everything; resolves with the number of processes that are left. */
  readonly askToEnd: (address: Address) => Promise<number>
  /** Looks at a record, or at an instance, soon. */
  pokeOwner(uid: string): void
  pokeInstance(id: string): void
  /** There may be something to tell the instance's daemon. */
  pokeConfiguration(id: string): void
  /** A machine is gone; connections to its address are of no use. */
  readonly onDown: (host: string) => void
  /** It waits for something that no turn brings, such as its image. */
  readonly onWaiting?: ((uid: string) => void) | undefined
}

/** One instance, the record it runs for, and who has its machine. */
export interface Subject {
  readonly instance: Instance
  readonly owner: Resource
  readonly workload: Workload
  readonly driver: Driver
}

/** Timers hold at most 2^31-1 ms; looking once an hour is enough for anything further away. */
export const longestWaitMs = 3_600_000

/** Whether the record's table has that move, so that it happens to the record when it happens to its machine. */
export const allows = ({ rules }: Context, record: Resource, event: string): boolean =>
  rules.get(record.kind)?.life?.allows(record.status, event) ?? false

/** What happens to the owner when it happens to its machine; where its table says nothing, it is to be as it was read. */
export const ownerMove = (context: Context, { owner }: Subject, name: string, message: string): Move =>
  allows(context, owner, name) ? { record: owner, event: { name, message } } : { expect: owner }

export const errorOf = ({ clock }: Context, error: Omit<InstanceError, 'time'>): InstanceError => ({
  ...error,
  time: new Date(clock.now()).toISOString(),
})

/** Nothing leads to the machine any more. */
export const takeDown = ({ census, standby, configurer, onDown }: Context, id: string): void => {
  const host = census.found(id)?.address?.host
  if (host) onDown(host)
  census.forget(id)
  standby.down(id)
  configurer.forget(id)
}

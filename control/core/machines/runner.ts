/**
 * Keeps the machines of every record as the records say. A record is looked at by its uid, an instance by its id; both
 * looks are level-triggered, so it does not matter what happened or how often, and the same code serves a new record, a
 * restart after a crash, and somebody having removed a machine by hand.
 *
 * A kind takes part by declaring a `workload` (`reconcile/rules.ts`): how many machines a record wants, of which
 * revision, what each is made from and costs, and when an idle one is suspended. Nothing here knows a kind by name.
 */
import type { Clock } from '../../../shared/clock.ts'
import type { Closing } from '../../../shared/closing.ts'
import type { Ids } from '../../../shared/ids.ts'
import type { Log } from '../../../shared/log.ts'
import type { ChannelKeys } from '../channel/keys.ts'
import type { Drivers } from '../../drivers/drivers.ts'
import type { Changes } from '../transitions/changes.ts'
import { reconcileLoop } from '../transitions/loop.ts'
import type { RulesByKind } from '../transitions/rules.ts'
import type { Transition } from '../transitions/transition.ts'
import type { Address, Instance, Store } from '../store/store.ts'
import { adopt } from './adopt.ts'
import { census } from './census.ts'
import type { Configurer } from './configure.ts'
import type { Context } from './context.ts'
import { reach, type Reach } from './reach.ts'
import { reconcileConfiguration } from './reconcile-configuration.ts'
import { reconcileInstance } from './reconcile-instance.ts'
import { reconcileOwner } from './reconcile-owner.ts'
import type { Observer } from './observer.ts'
import { hasEnded } from './ended.ts'
import { createRemovals } from './removals.ts'
import type { ClaimDaemon, Spare } from './spare.ts'
import { standby, type Standby, type StandbyDeps } from './standby/standby.ts'
import { createEndings } from './terminate.ts'

/** The last look at the box that ended. */
export interface Surveyed {
  /** Elapsed ms. */
  readonly at: number
  /** How many drivers could not list their machines. */
  readonly failed: number
}

export interface Runner extends Reach, Pick<Standby, 'still'> {
  /** Looks at a record soon: it changed, or it went. Does nothing for kinds whose records have no machines and do not end. */
  poke(kind: string, uid: string): void
  /** Looks at the box, removes orphans, adopts what runs, and starts the loops. Call once, before serving. */
  start(): Promise<void>
  surveyed(): Surveyed
  /** Of a machine that takes no connection: looks whether it has ended, and if so resolves when its instance says so. */
  hasEnded(instance: Instance, signal: AbortSignal): Promise<boolean>
}

export interface RunnerDeps {
  readonly store: Store
  readonly drivers: Drivers
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly closing: Closing
  readonly rules: RulesByKind
  readonly transition: Transition
  readonly channelKeys: Pick<ChannelKeys, 'forStart'>
  readonly changes: Changes
  readonly configurer: Omit<Configurer, 'written'>
  /** A machine is gone; connections to it are of no use. */
  readonly onDown: (host: string) => void
  /** A record waits for something that no turn brings, such as its image. */
  readonly onWaiting?: ((uid: string) => void) | undefined
  /** Machines made ahead of need; none when it is left out. */
  readonly spare?: Spare | undefined
  readonly claimDaemon: ClaimDaemon
  /** The daemon of that machine will be asked, within so many ms; Infinity where nobody knows when. */
  readonly expectUse?: ((address: Address, withinMs: number) => void) | undefined
  readonly observer: Observer
  readonly keepAlive: StandbyDeps['keepAlive']
  /** Asks the daemon that answers there to end everything; resolves with the number of processes that are left. */
  readonly askToEnd: (address: Address) => Promise<number>
}

/** Starts at once: the driver limits what the box can bear. */
const concurrency = 32
const surveyEveryMs = 5_000

/** Looks at the box from time to time, and when it is asked to. */
interface Surveying {
  now(): Promise<void>
  stop(): Promise<void>
}

const surveying = (context: Context, seen: (surveyed: Surveyed) => void): Surveying => {
  const { census, clock, log, pokeInstance } = context
  const look = async () => {
    const { changed, failures } = await census.survey()
    for (const error of failures) log.warn('survey.failed', { error })
    for (const id of changed) pokeInstance(id)
    seen({ at: clock.elapsed(), failed: failures.length })
  }
  let under: Promise<void> | undefined
  const now = (): Promise<void> =>
    (under ??= look()
      .catch(error => log.warn('survey.failed', { error }))
      .finally(() => {
        under = undefined
      }))
  const stop = clock.every(surveyEveryMs, () => void now())
  return {
    now,
    async stop() {
      stop()
      await under
    },
  }
}

export const createRunner = (deps: RunnerDeps): Runner => {
  const { store, drivers, clock, log, closing, rules, changes, configurer } = deps
  const context: Context = {
    ...deps,
    spare: deps.spare,
    census: census(deps),
    standby: standby({ ...deps, isStarting: () => instances.busy > 0 }),
    endings: createEndings(),
    removals: createRemovals(),
    pokeOwner: uid => owners.poke(uid),
    pokeInstance: id => instances.poke(id),
    pokeConfiguration: id => configurations.poke(id),
  }
  const owners = reconcileLoop(reconcileOwner(context), { name: 'owners', concurrency }, { clock, log })
  const instances = reconcileLoop(reconcileInstance(context), { name: 'instances', concurrency }, { clock, log })
  const configurations = reconcileLoop(
    reconcileConfiguration(context),
    { name: 'configurations', concurrency },
    { clock, log },
  )
  const kinds = [...rules.values()].filter(({ workload, expiry }) => workload ?? expiry).map(({ kind }) => kind)

  let surveyed: Surveyed = { at: clock.elapsed(), failed: 0 }
  let survey: Surveying | undefined
  const look = async (): Promise<void> => survey?.now()
  return {
    surveyed: () => surveyed,
    hasEnded: (instance, signal) => hasEnded({ store, census: context.census, changes, look }, instance, signal),
    still: context.standby.still,
    ...reach({ store, rules, changes, configurer, standby: context.standby, pokeOwner: context.pokeOwner }),
    poke(kind, uid) {
      if (kinds.includes(kind)) owners.poke(uid)
    },
    async start() {
      for (const instance of await adopt(context, drivers.preferred.name)) instances.poke(instance.id)
      const unreadable = (record: string, error: unknown) => log.error('record.unreadable', { record, error })
      for (const kind of kinds) for (const { uid } of await store.resources.everyOf(kind, unreadable)) owners.poke(uid)
      surveyed = { at: clock.elapsed(), failed: 0 }
      const looking = surveying(context, seen => {
        surveyed = seen
      })
      survey = looking
      closing.add('standby', context.standby.close)
      closing.add('configurations', configurations.close)
      closing.add('owners', owners.close)
      closing.add('instances', instances.close)
      closing.add('survey', looking.stop)
    },
  }
}

/**
 * Machines made ahead of need: booted, asleep, nobody's. A pool keeps some of one image; a record that lacks a machine is given one of
 * them in the transaction that would have added a new one, and its daemon is told whose it is. What cannot be had from a pool is
 * made as always.
 *
 * Pools fill up when nobody waits for a machine and none has been asked for just now, one machine at a time.
 */
import type { Clock } from '../../../../shared/clock.ts'
import type { Closing } from '../../../../shared/closing.ts'
import type { Ids } from '../../../../shared/ids.ts'
import type { Log } from '../../../../shared/log.ts'
import type { Drivers } from '../../../drivers/drivers.ts'
import type { Images } from '../../images/images.ts'
import type { Spare } from '../spare.ts'
import type { Rules } from '../../transitions/rules.ts'
import type { Transition } from '../../transitions/transition.ts'
import type { WaitingLine } from '../../transitions/waiting-line.ts'
import type { Resource, Store, Written } from '../../store/store.ts'
import { createBook, isGeneric, type Book } from './book.ts'
import { createCircuit, type Circuit } from './circuit.ts'
import { createDemand, type Demand } from './demand.ts'
import { keepPools } from './keep.ts'
import { createPace, type Pace } from './pace.ts'
import { poolRules, specOf, type EnvironmentOf } from './pool.ts'
import { poolKind } from './pool-kind.ts'
import { report, type WarmReport } from './report.ts'
import { leaveNone, withUnasked } from './unasked.ts'
import { wantedPools, type WantedPool } from './wanted.ts'

export interface Warm {
  readonly rules: Rules
  readonly spare: Spare
  /** To be told of everything that is written. */
  written(written: Written): void
  /** Takes what there is and makes the pools' records what they should be. To be called before machines are looked after. */
  load(deps: { transition: Transition; line: Pick<WaitingLine, 'length'> }): Promise<void>
  /** Keeps the pools full from now on. */
  begin(poke: (kind: string, uid: string) => void): void
  report(): Promise<WarmReport>
}

export interface WarmDeps {
  readonly store: Store
  readonly drivers: Drivers
  readonly images: Images
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly closing: Closing
  /** While it says so, none is made. */
  readonly draining: () => boolean
}

export interface WarmOptions {
  /** Machines by image. */
  readonly sizes: Readonly<Record<string, number>>
  /** How many generic machines there are, where the driver can make them, though nobody has asked for machines ahead of need. */
  readonly unasked: number
  /** How many besides, of what was asked for lately. */
  readonly mostDemanded: number
  readonly ownEnvironment: Readonly<Record<string, string>>
  /** What most of those who are given one of its machines would tell them. */
  readonly environmentOf: EnvironmentOf
  /** What the daemon of new machines is: another one, other machines. */
  readonly bundle: string
}

/** After somebody was served; the next one may be on the way. */
const quietMs = 50
/** Images move, and demand passes. */
const lookEveryMs = 30_000
/** Who asks for one may ask for more. */
const demandMs = 500

interface Context extends WarmDeps, WarmOptions {
  readonly book: Book
  readonly demand: Demand
  readonly pace: Pace
  readonly circuit: Circuit
  readonly tally: { claimed: number; missed: number }
  /** What generic machines are made with; undefined where there are none. */
  readonly genericRoot: string | undefined
  /** Undefined when machines can be made ahead; else why not. */
  readonly obstacle: string | undefined
  wanted: readonly WantedPool[]
  closed: boolean
  transition?: Transition
  line?: Pick<WaitingLine, 'length'>
  poke?: (kind: string, uid: string) => void
  cancel?: (() => void) | undefined
  cancelLook?: (() => void) | undefined
  /** When the next look is due, by the clock's elapsed time. */
  lookDue?: number | undefined
}

const obstacleOf = ({ preferred }: Drivers): string | undefined => {
  if (!preferred.freezer) return `driver ${preferred.name} cannot put machines to sleep`
  return preferred.claimer ? undefined : `driver ${preferred.name} cannot give a machine that runs to somebody here`
}

/** One at a time, and none while somebody waits. */
const canMake = ({ line, book, obstacle, draining, closed }: Context): boolean =>
  obstacle === undefined && !closed && !draining() && (line?.length ?? 0) === 0 && book.beginning === 0

const mayMake = (context: Context, owner: Resource): number => {
  const { book, pace } = context
  const pool = { size: specOf(owner).size, has: book.of(owner.uid).length }
  return canMake(context) && pace.mayFill(pool) ? 1 : 0
}

/** Looks at the pools that are not full once nobody waits, and again when nobody has asked for a while. */
const fillSoon = (context: Context, ms = quietMs): void => {
  const { clock, store, log, pace } = context
  context.cancel ??= clock.after(ms, () => {
    context.cancel = undefined
    if (context.closed || !context.poke || !canMake(context)) return
    const { poke } = context
    if (pace.leftMs() > 0) fillSoon(context, pace.leftMs())
    store.resources
      .everyOf(poolKind, () => {})
      .then(
        records => {
          for (const record of records) if (mayMake(context, record) > 0) poke(poolKind, record.uid)
        },
        error => log.warn('warm.unfilled', { error }),
      )
  })
}

const look = async (context: Context): Promise<readonly string[]> => {
  const { obstacle, transition, bundle, drivers, ownEnvironment } = context
  if (!transition) return []
  const made = [
    bundle,
    drivers.preferred.name,
    JSON.stringify([ownEnvironment, drivers.preferred.storage?.claimableMb ?? 0]),
  ]
  context.wanted = obstacle === undefined ? await wantedPools({ ...context, made }) : []
  return keepPools({ ...context, transition }, context.wanted)
}

/** Looks in `ms`, unless a look is due before, and from then on from time to time. */
const lookSoon = (context: Context, ms: number): void => {
  const { clock, log } = context
  if (context.lookDue !== undefined && context.lookDue <= clock.elapsed() + ms) return
  context.cancelLook?.()
  context.lookDue = clock.elapsed() + ms
  context.cancelLook = clock.after(ms, () => {
    look(context)
      .then(
        uids => {
          for (const uid of uids) context.poke?.(poolKind, uid)
        },
        error => log.warn('warm.unlooked', { error }),
      )
      .finally(() => {
        context.lookDue = undefined
        if (!context.closed) lookSoon(context, lookEveryMs)
      })
  })
}

const giving = (context: Context): Spare['giving'] => {
  const { book, circuit, demand, mostDemanded, tally } = context
  return async (plan, count, use) => {
    const { digest } = plan.image
    const machines = book.pick(plan, count, circuit.most(digest))
    circuit.given(
      digest,
      machines.filter(isGeneric).map(({ id }) => id),
    )
    context.pace.asked()
    tally.claimed += machines.length
    tally.missed += count - machines.length
    if (mostDemanded > 0) {
      demand.note(digest, count)
      lookSoon(context, demandMs)
    }
    try {
      return await use(machines)
    } catch (error) {
      for (const { id } of machines) circuit.became(id, error)
      throw error
    } finally {
      book.giveBack(machines)
    }
  }
}

/** Whether any machine is to be made ahead. */
const isOn = ({ sizes, mostDemanded }: WarmOptions): boolean =>
  mostDemanded > 0 || Object.values(sizes).some(size => size > 0)

export const createWarm = (deps: WarmDeps, given: WarmOptions): Warm => {
  const { store, drivers, clock, log, images } = deps
  const genericRoot = drivers.preferred.claimer?.genericRoot
  const options = withUnasked(given, genericRoot)
  const { ownEnvironment, environmentOf } = options
  const context: Context = {
    ...deps,
    ...options,
    book: createBook({
      driver: drivers.preferred.name,
      ownEnvironment,
      mostStorageMb: drivers.preferred.storage?.claimableMb ?? Infinity,
    }),
    demand: createDemand(clock),
    pace: createPace(clock),
    circuit: createCircuit(deps),
    tally: { claimed: 0, missed: 0 },
    genericRoot,
    obstacle: obstacleOf(drivers),
    wanted: [],
    closed: false,
  }
  const { book, circuit, obstacle } = context
  const asks = isOn(options) && obstacle === undefined
  // Once nothing looks after machines any more: what was opened before is closed after.
  if (asks && options.unasked > 0) deps.closing.add('machines that nobody asked for', () => leaveNone(context))
  if (isOn(options) && obstacle !== undefined) log.warn('warm.unavailable', { reason: obstacle })
  return {
    rules: poolRules({ images, genericRoot, ownEnvironment, environmentOf, mayMake: owner => mayMake(context, owner) }),
    spare: { asks, giving: giving(context), became: circuit.became },
    written(written) {
      book.written(written)
      if (asks) fillSoon(context)
    },
    async load({ transition, line }) {
      Object.assign(context, { transition, line })
      book.written({ instances: await store.instances.every(() => {}) })
      await look(context)
    },
    begin(poke) {
      context.poke = poke
      if (!asks) return
      lookSoon(context, lookEveryMs)
      deps.closing.add('warm pools', () => {
        context.closed = true
        context.cancel?.()
        context.cancelLook?.()
      })
    },
    report: () => report(context),
  }
}

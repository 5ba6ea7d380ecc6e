/** Calls under way and calls that wait, by record, revision and machine: what a machine may still take, and how many machines are needed. */
import type { Clock } from '../../../shared/clock.ts'
import type { Closing } from '../../../shared/closing.ts'
import type { Log } from '../../../shared/log.ts'
import type { Served } from '../records/server-plane.ts'
import { neededFor } from './needed.ts'
import type { Scaler } from './scale.ts'

/** What is known of the calls of one revision. */
interface Load {
  readonly uid: string
  readonly revision: string
  /** By machine, those that have any. */
  readonly underWay: Map<string, number>
  waiting: number
  /** The most at once, of this window and of the one before it. */
  peak: number
  peakBefore: number
  /** As it was when a call last came. */
  served: Served
  /** Machines that it was scaled to. */
  count: number
  /** Its machines, oldest first: the newest go first. */
  machines: readonly string[]
}

export interface Loads {
  /** Calls that the machine has. */
  of(load: { uid: string; revision: string }, instance: string): number
  /** Of these machines, oldest first, those that calls are to go to: as many as are needed. */
  needed(uid: string, revision: string, served: Served, machines: readonly string[]): readonly string[]
  /** Takes a place in a machine; the returned function gives it up. */
  take(uid: string, revision: string, served: Served, instance: string): () => void
  /** One more call waits; the returned function says that it does not any more. */
  wait(uid: string, revision: string, served: Served): () => void
  /** Calls of the revision that wait. */
  waiting(uid: string, revision: string): number
  /** Has as many machines as its calls need, if it has fewer. */
  grow(uid: string, revision: string): Promise<void>
}

/** Machines are taken away when they were not needed in two of these. */
const windowMs = 30_000

export interface LoadsDeps {
  readonly clock: Clock
  readonly log: Log
  readonly scaler: Scaler
  /** A place has come free. */
  readonly freed: (uid: string) => void
}

const sum = (load: Load): number => [...load.underWay.values()].reduce((all, one) => all + one, load.waiting)

interface Context extends LoadsDeps {
  readonly all: Map<string, Load>
}

const nameOf = (uid: string, revision: string): string => `${uid} ${revision}`
const loadOf = ({ all }: Context, uid: string, revision: string, served: Served): Load => {
  const name = nameOf(uid, revision)
  let load = all.get(name)
  if (!load) {
    load = { uid, revision, underWay: new Map(), waiting: 0, peak: 0, peakBefore: 0, served, count: 1, machines: [] }
    all.set(name, load)
  }
  load.served = served
  return load
}

const note = (load: Load): void => {
  load.peak = Math.max(load.peak, sum(load))
}

const shrink = ({ all, scaler, log }: Context, name: string, load: Load): void => {
  const { uid, revision, served, count } = load
  // One that still has calls keeps its place, and those before it theirs.
  const busy = load.machines.findLastIndex(id => load.underWay.has(id)) + 1
  const needed = Math.max(busy, neededFor(Math.max(load.peak, load.peakBefore), served))
  load.peakBefore = load.peak
  load.peak = sum(load)
  if (needed < count) {
    load.count = needed
    scaler
      .set(uid, revision, needed)
      .catch((error: unknown) => log.warn('workload.not-scaled', { owner: uid, revision, error }))
  } else if (load.peak + load.peakBefore === 0 && count <= 1) all.delete(name)
}

const leaving = ({ freed }: Context, load: Load, instance: string): (() => void) => {
  const { uid, underWay } = load
  let isTaken = true
  return () => {
    if (!isTaken) return
    isTaken = false
    const left = (underWay.get(instance) ?? 1) - 1
    if (left > 0) underWay.set(instance, left)
    else underWay.delete(instance)
    if (load.waiting > 0) freed(uid)
  }
}

export const createLoads = (deps: LoadsDeps, closer: Closing): Loads => {
  const context: Context = { ...deps, all: new Map() }
  const { all, clock, scaler } = context
  const stop = clock.every(windowMs, () => {
    for (const [name, load] of all) shrink(context, name, load)
  })
  closer.add('loads of workloads', stop)
  return {
    of: ({ uid, revision }, instance) => all.get(nameOf(uid, revision))?.underWay.get(instance) ?? 0,
    waiting: (uid, revision) => all.get(nameOf(uid, revision))?.waiting ?? 0,
    needed(uid, revision, served, machines) {
      const load = loadOf(context, uid, revision, served)
      load.machines = machines
      return machines.slice(0, neededFor(Math.max(load.peak, load.peakBefore, sum(load) + 1), served))
    },
    take(uid, revision, served, instance) {
      const load = loadOf(context, uid, revision, served)
      load.underWay.set(instance, (load.underWay.get(instance) ?? 0) + 1)
      note(load)
      return leaving(context, load, instance)
    },
    wait(uid, revision, served) {
      const load = loadOf(context, uid, revision, served)
      load.waiting++
      note(load)
      return () => void load.waiting--
    },
    async grow(uid, revision) {
      const load = all.get(nameOf(uid, revision))
      if (!load) return
      const needed = neededFor(sum(load), load.served)
      if (needed <= load.count) return
      load.count = needed
      await scaler.atLeast(uid, revision, needed)
    },
  }
}

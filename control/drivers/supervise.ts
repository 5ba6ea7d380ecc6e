/** What every driver gets without writing it: deadlines, one log line per verb, and errors that name verb and driver. */
import type { Clock } from '../../shared/clock.ts'
import { fail, isError, messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import type { Claimer, Driver, Freezer, Mounter } from './driver.ts'
import type { Snapshotter } from './snapshotter.ts'
import type { Storage } from './storage.ts'
import type { Volumes } from './volumes.ts'

export interface Deadlines {
  readonly createMs: number
  readonly removeMs: number
  readonly otherMs: number
}

const generous: Deadlines = { createMs: 120_000, removeMs: 60_000, otherMs: 30_000 }

type Bounded = <T>(
  verb: string,
  about: object,
  limitMs: number,
  outer: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
) => Promise<T>

/** `log` names the driver already. */
const bounding =
  (driver: string, { log, clock }: { log: Log; clock: Clock }): Bounded =>
  async (verb, about, limitMs, outer, run) => {
    const start = clock.elapsed()
    const late = new AbortController()
    const reason = fail('timed_out', { what: `${verb} of driver ${driver}`, afterMs: limitMs })
    const cancel = clock.after(limitMs, () => late.abort(reason))
    const signal = outer ? AbortSignal.any([outer, late.signal]) : late.signal
    const aborted = Promise.withResolvers<never>()
    const giveUp = () => aborted.reject(signal.reason)
    // A driver that is stuck in the kernel does not hear the signal; the caller must not be stuck with it.
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      signal.throwIfAborted()
      const result = await Promise.race([run(signal), aborted.promise])
      log.debug(`driver.${verb}`, { ...about, ms: Math.round(clock.elapsed() - start) })
      return result
    } catch (error) {
      const known =
        isError(error) || outer?.aborted
          ? error
          : fail('driver_failed', { driver, step: verb, reason: messageOf(error) }, error)
      log.warn(`driver.${verb}.failed`, { ...about, ms: Math.round(clock.elapsed() - start), error: known })
      throw known
    } finally {
      signal.removeEventListener('abort', giveUp)
      cancel()
    }
  }

const supervisedFreezer = (freezer: Freezer, bounded: Bounded, { createMs, otherMs }: Deadlines): Freezer => ({
  freeze: id => bounded('freeze', { machine: id }, otherMs, undefined, () => freezer.freeze(id)),
  thaw: id => bounded('thaw', { machine: id }, otherMs, undefined, () => freezer.thaw(id)),
  // Ended by its signal it resolves, as nothing went wrong then.
  ...(freezer.reclaim && {
    reclaim: (id: string, signal: AbortSignal) =>
      bounded('reclaim', { machine: id }, createMs, undefined, async () => freezer.reclaim?.(id, signal)),
  }),
})

const supervisedClaimer = (claimer: Claimer, bounded: Bounded, { otherMs }: Deadlines): Claimer => ({
  ...claimer,
  claim: (spec, tell) => bounded('claim', { machine: spec.id }, otherMs, undefined, () => claimer.claim(spec, tell)),
})

const supervisedStorage = (storage: Storage, bounded: Bounded, { otherMs }: Deadlines): Storage => ({
  ...storage,
  grow: (id, mb) => bounded('grow', { machine: id }, otherMs, undefined, () => storage.grow(id, mb)),
})

const supervisedVolumes = (volumes: Volumes, bounded: Bounded, { createMs, otherMs }: Deadlines): Volumes => ({
  ...volumes,
  check: () => bounded('volumes', {}, otherMs, undefined, volumes.check),
  fill: (id, mb, from, signal) =>
    bounded('fill', { volume: id }, createMs, signal, inner => volumes.fill(id, mb, from, inner)),
  remove: id => bounded('remove volume', { volume: id }, otherMs, undefined, () => volumes.remove(id)),
})

/** A copy takes as long as there is of it: its steps have bounds of their own. */
const copyMs = 3_600_000

const supervisedSnapshotter = (snapshotter: Snapshotter, bounded: Bounded): Snapshotter => {
  const within = <T>(
    verb: string,
    about: object,
    outer: AbortSignal | undefined,
    run: (signal: AbortSignal) => Promise<T>,
  ) => bounded(`snapshot.${verb}`, about, copyMs, outer, run)
  const { prepare, commit, mount, restore, view, remove } = snapshotter
  return {
    ...snapshotter,
    prepare: (id, machine, outer) => within('prepare', { id, machine }, outer, signal => prepare(id, machine, signal)),
    commit: (id, machine, still, outer) =>
      within('commit', { id, machine }, outer, signal => commit(id, machine, still, signal)),
    mount: (id, machine, outer) => within('mount', { id, machine }, outer, signal => mount(id, machine, signal)),
    restore: (id, machine, outer) => within('restore', { id, machine }, outer, signal => restore(id, machine, signal)),
    view: (id, outer) => within('view', { id }, outer, signal => view(id, signal)),
    remove: id => within('remove', { id }, undefined, () => remove(id)),
  }
}

const supervisedMounter = (mounter: Mounter, bounded: Bounded, { otherMs }: Deadlines): Mounter => ({
  table: id => bounded('table', { machine: id }, otherMs, undefined, () => mounter.table(id)),
  mount: (id, wanted) => bounded('mount', { machine: id }, otherMs, undefined, () => mounter.mount(id, wanted)),
  unmount: (id, mounted) => bounded('unmount', { machine: id }, otherMs, undefined, () => mounter.unmount(id, mounted)),
})

/**
 * Wraps a driver. A verb past its deadline is aborted and throws `timed_out`; what it left is for `remove`.
 * Anything else that is not an AppError becomes `driver_failed` with the original as its cause.
 */
export const supervise = (driver: Driver, deps: { log: Log; clock: Clock; deadlines?: Partial<Deadlines> }): Driver => {
  const bounded = bounding(driver.name, { log: deps.log.with({ driver: driver.name }), clock: deps.clock })
  const deadlines = { ...generous, ...deps.deadlines }
  const freezer = driver.freezer && supervisedFreezer(driver.freezer, bounded, deadlines)
  const claimer = driver.claimer && supervisedClaimer(driver.claimer, bounded, deadlines)
  const storage = driver.storage && supervisedStorage(driver.storage, bounded, deadlines)
  const volumes = driver.volumes && supervisedVolumes(driver.volumes, bounded, deadlines)
  const mounter = driver.mounter && supervisedMounter(driver.mounter, bounded, deadlines)
  return {
    name: driver.name,
    probe: signal => bounded('probe', {}, deadlines.createMs, signal, inner => driver.probe(inner)),
    create: (spec, signal, onRising) =>
      bounded('create', { machine: spec.id }, deadlines.createMs, signal, inner =>
        driver.create(spec, inner, onRising),
      ),
    list: signal => bounded('list', {}, deadlines.otherMs, signal, inner => driver.list(inner)),
    end: (id, signal) => bounded('end', { machine: id }, deadlines.removeMs, signal, inner => driver.end(id, inner)),
    remove: (id, signal) =>
      bounded('remove', { machine: id }, deadlines.removeMs, signal, inner => driver.remove(id, inner)),
    stats: id => bounded('stats', { machine: id }, deadlines.otherMs, undefined, () => driver.stats(id)),
    ...(freezer ? { freezer } : {}),
    ...(mounter ? { mounter } : {}),
    ...(claimer ? { claimer } : {}),
    ...(driver.outbound ? { outbound: driver.outbound } : {}),
    ...(storage ? { storage } : {}),
    ...(volumes ? { volumes } : {}),
    ...(driver.keeper ? { keeper: driver.keeper } : {}),
    ...(driver.snapshotter ? { snapshotter: supervisedSnapshotter(driver.snapshotter, bounded) } : {}),
    close: () => driver.close(),
  }
}

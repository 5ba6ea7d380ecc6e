/** Which machine of a record takes a call: of a revision by its share, of its machines the one with the fewest calls under way. */
import { fail } from '../../../shared/errors.ts'
import type { Held, Reach } from '../machines/reach.ts'
import type { Changes } from '../transitions/changes.ts'
import { isUp } from '../transitions/instance-life.ts'
import type { Kind } from '../records/kind.ts'
import { trafficOf } from '../records/revisions.ts'
import type { Served } from '../records/server-plane.ts'
import type { Instance, Resource, Store } from '../store/store.ts'
import type { Loads } from './loads.ts'
import type { Scaler } from './scale.ts'
import { byThread, type Sticky, type StickyKey } from './sticky.ts'
import { isLive, sharesOf, trafficIn } from './traffic.ts'

export interface BalanceDeps {
  readonly store: Pick<Store, 'resources' | 'instances'>
  /** Every kind of this host, by its name. */
  readonly kinds: ReadonlyMap<string, Kind>
  readonly changes: Changes
  readonly hold: Reach['hold']
  readonly scaler: Scaler
  readonly loads: Loads
  readonly sticky: Sticky
}

/** A machine for one call, awake until `release`. */
export interface Seat extends Held {
  /** Where its server listens. */
  readonly port: number
  /** Seconds that its caller stays with its revision; 0 for not at all. */
  readonly stickyS: number
  /** Takes it once more, after it was released. */
  again(): Promise<() => void>
}

export interface Balancer {
  /**
   * A machine of the record. Waits up to a minute for one that is coming up, or that has room. Throws
   * `workload_not_found`, `not_running`, `too_many_calls`, `timed_out`.
   */
  enter(record: Resource, signal: AbortSignal, key?: StickyKey): Promise<Seat>
}

/** A call is held this long for a record whose machines are still coming up, or have no room. */
const patienceMs = 60_000

interface Context extends BalanceDeps {
  /** What each revision is owed of the next calls, by record. */
  readonly owed: Map<string, ReadonlyMap<string, number>>
}

/** One call, while it looks for a machine. */
interface Search {
  readonly uid: string
  readonly key: StickyKey
  revision?: string
}

interface Place {
  readonly record: Resource
  readonly instance: Instance
  readonly served: Served
  readonly leave: () => void
}

/** The revision that has been given least of what is its own: parts are kept exactly, whoever calls. */
const nextRevision = ({ owed }: Context, uid: string, shares: ReadonlyMap<string, number>): string => {
  const before = owed.get(uid)
  const now = new Map([...shares].map(([revision, part]) => [revision, (before?.get(revision) ?? 0) + part]))
  const [chosen] = [...now].reduce((best, one) => (one[1] > best[1] ? one : best))
  now.set(chosen, (now.get(chosen) ?? 0) - 100)
  owed.set(uid, now)
  return chosen
}

const stickySeconds = ({ spec }: Resource): number =>
  (trafficOf(spec) as { readonly stickySessionTtl?: number }).stickySessionTtl ?? 0

const choose = (context: Context, record: Resource, { uid, key }: Search, shares: ReadonlyMap<string, number>) => {
  const { thread, revision } = key
  if (stickySeconds(record) > 0) {
    const known = thread === undefined ? revision : context.sticky.of(uid, thread)?.revision
    if (known !== undefined && shares.has(known)) return known
    if (thread !== undefined) return byThread(thread, shares)
  }
  return nextRevision(context, uid, shares)
}

/** Throws why the record takes no calls. */
export const needServing = async (
  { store }: { readonly store: Pick<Store, 'resources'> },
  record: Resource,
): Promise<void> => {
  const { kind, name, status: state, uid } = record
  const serves = trafficIn(record).serving !== undefined
  if (isLive(record) && (serves || state === 'DEPLOYING')) return
  const reason = state === 'FAILED' ? ((await store.resources.events(uid)).at(-1)?.message ?? '') : ''
  throw fail('not_running', { kind, name, state, reason })
}

/** Those that can be given calls now: a revision beside the serving one only once it is up, or was and sleeps. */
const readyShares = (record: Resource, instances: readonly Instance[]): ReadonlyMap<string, number> => {
  const { serving, scale = {} } = trafficIn(record)
  const shares = sharesOf(record)
  const isReady = (revision: string): boolean =>
    revision === serving || scale[revision] === 0 || instances.some(one => one.revision === revision && isUp(one))
  const ready = [...shares].filter(([revision]) => isReady(revision))
  if (ready.length === shares.size || ready.length === 0) return shares
  return new Map([[ready[0]?.[0] as string, 100]])
}

const withRoom = (context: Context, search: Search & { revision: string }, up: readonly Instance[], served: Served) => {
  const { loads, sticky } = context
  const { uid, key } = search
  const ids = up.map(({ id }) => id)
  const needed = loads.needed(uid, search.revision, served, ids)
  const room = up.filter(({ id }) => loads.of(search, id) < served.concurrency)
  const among = room.filter(({ id }) => needed.includes(id))
  const open = among.length > 0 ? among : room
  const pinned = key.thread === undefined ? undefined : sticky.of(uid, key.thread)?.instance
  return open.reduce<Instance | undefined>((best, one) => {
    if (!best || one.id === pinned) return one
    if (best.id === pinned) return best
    return loads.of(search, one.id) < loads.of(search, best.id) ? one : best
  }, undefined)
}

/** A place in a machine; undefined while there is none. */
const look = async (context: Context, search: Search): Promise<Place | undefined> => {
  const { store, scaler, loads, kinds, sticky } = context
  const { uid, key } = search
  const record = await store.resources.getByUid(uid)
  if (!record) throw fail('workload_not_found', { kind: 'record', wanted: uid })
  await needServing(context, record)
  const instances = await store.instances.ofOwner(uid)
  const shares = readyShares(record, instances)
  const { server } = kinds.get(record.kind) ?? {}
  if (shares.size === 0 || !server) return undefined
  if (!search.revision || !shares.has(search.revision)) search.revision = choose(context, record, search, shares)
  const { revision } = search
  const served = server.contentOf(record, revision)
  const up = instances.filter(one => one.revision === revision && isUp(one))
  const instance = withRoom(context, { ...search, revision }, up, served)
  if (!instance) {
    if (trafficIn(record).scale?.[revision] === 0) await scaler.set(uid, revision, 1)
    return undefined
  }
  const stickyMs = stickySeconds(record) * 1_000
  if (stickyMs > 0 && key.thread !== undefined)
    sticky.pin(uid, key.thread, { revision, instance: instance.id }, stickyMs)
  return { record, instance, served, leave: loads.take(uid, revision, served, instance.id) }
}

/** So many wait at most for each place that there may be. */
const waitingPerPlace = 2

/** Waits for a place. A call whose client is gone meanwhile gives up what it was given. */
const wait = async (context: Context, record: Resource, search: Search, signal: AbortSignal): Promise<Place> => {
  const { changes, loads, kinds } = context
  const { kind, name, uid } = record
  const { revision = '' } = search
  const served = kinds.get(kind)?.server?.contentOf(record, revision)
  if (!served) throw fail('workload_not_found', { kind, wanted: name })
  const waiting = loads.waiting(uid, revision)
  if (waiting >= waitingPerPlace * served.concurrency * served.maxScale)
    throw fail('too_many_calls', { kind, name, waiting })
  const leave = loads.wait(uid, revision, served)
  try {
    if (revision) await loads.grow(uid, revision)
    const what = `waiting for ${kind} "${name}"`
    return await changes.until(uid, () => look(context, search), { what, boundMs: patienceMs, signal })
  } finally {
    leave()
  }
}

const seatIn = async (context: Context, { record, instance, served, leave }: Place, signal: AbortSignal) => {
  const { loads, hold } = context
  const take = async (give: () => void): Promise<Held> => {
    try {
      const held = await hold(record, signal, instance)
      const release = (): void => {
        held.release()
        give()
      }
      return { ...held, release }
    } catch (error) {
      give()
      throw error
    }
  }
  return {
    ...(await take(leave)),
    port: served.port,
    stickyS: stickySeconds(record),
    again: async () => (await take(loads.take(record.uid, instance.revision, served, instance.id))).release,
  }
}

export const createBalancer = (deps: BalanceDeps): Balancer => {
  const context: Context = { ...deps, owed: new Map() }
  return {
    async enter(record, signal, key = {}) {
      const search: Search = { uid: record.uid, key }
      const place = (await look(context, search)) ?? (await wait(context, record, search, signal))
      return seatIn(context, place, signal)
    },
  }
}

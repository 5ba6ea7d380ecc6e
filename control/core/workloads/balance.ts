/** Which machine of a record takes a call: of a revision by its share, of those the one with the fewest calls under way. */
import { fail } from '../../../shared/errors.ts'
import type { Held, Reach } from '../machines/reach.ts'
import type { Changes } from '../transitions/changes.ts'
import { isUp } from '../transitions/instance-life.ts'
import type { Instance, Resource, Store } from '../store/store.ts'
import type { Scaler } from './scale.ts'
import { isLive, trafficIn } from './traffic.ts'
import { sharesOf } from './workload.ts'

export interface BalanceDeps {
  readonly store: Pick<Store, 'resources' | 'instances'>
  readonly changes: Changes
  readonly hold: Reach['hold']
  readonly scaler: Scaler
}

/** A machine for one call, awake until `release`. */
export interface Seat extends Held {
  /** Takes it once more, after it was released. */
  again(): Promise<() => void>
}

export interface Balancer {
  /**
   * A machine of the record, awake until `release`. Waits up to a minute for one that is coming up. Throws `not_found`,
   * `not_running`, `timed_out`.
   */
  enter(record: Resource, signal: AbortSignal): Promise<Seat>
}

/** A call is held this long for a record whose machine is still coming up. */
const patienceMs = 60_000

interface Context extends BalanceDeps {
  /** Calls under way, by instance. */
  readonly underWay: Map<string, number>
  /** What each revision is owed of the next calls, by record. */
  readonly owed: Map<string, Map<string, number>>
}

/** The revision that has been given least of what is its own: parts are kept exactly, whoever calls. */
const nextRevision = ({ owed }: Context, { uid }: Resource, shares: ReadonlyMap<string, number>): string => {
  const [[only = ''] = []] = shares
  if (shares.size < 2) return only
  const before = owed.get(uid) ?? new Map<string, number>()
  const now = new Map([...shares].map(([revision, part]) => [revision, (before.get(revision) ?? 0) + part]))
  const [chosen] = [...now].reduce((best, one) => (one[1] > best[1] ? one : best))
  now.set(chosen, (now.get(chosen) ?? 0) - 100)
  owed.set(uid, now)
  return chosen
}

/** Throws why the record takes no calls. */
const needServing = async ({ store }: Context, record: Resource): Promise<void> => {
  const { kind, name, status: state, uid } = record
  const serves = trafficIn(record).serving !== undefined
  if (isLive(record) && (serves || state === 'DEPLOYING')) return
  const reason = state === 'FAILED' ? ((await store.resources.events(uid)).at(-1)?.message ?? '') : ''
  throw fail('not_running', { kind, name, state, reason })
}

const leastBusy = ({ underWay }: Context, instances: readonly Instance[]): Instance | undefined =>
  instances.reduce<Instance | undefined>(
    (best, one) => (!best || (underWay.get(one.id) ?? 0) < (underWay.get(best.id) ?? 0) ? one : best),
    undefined,
  )

/** A machine of the revision that is up; undefined while there is none. */
const look = async (context: Context, uid: string, wanted: { revision?: string }): Promise<Instance | undefined> => {
  const { store, scaler } = context
  const record = await store.resources.getByUid(uid)
  if (!record) throw fail('workload_not_found', { kind: 'workload', wanted: uid })
  await needServing(context, record)
  const shares = sharesOf(record)
  if (shares.size === 0) return undefined
  if (!wanted.revision || !shares.has(wanted.revision)) wanted.revision = nextRevision(context, record, shares)
  const { revision } = wanted
  const up = (await store.instances.ofOwner(uid)).filter(one => one.revision === revision && isUp(one))
  const found = leastBusy(context, up)
  if (!found && trafficIn(record).scale?.[revision] === 0) await scaler.set(uid, revision, 1)
  return found
}

export const createBalancer = (deps: BalanceDeps): Balancer => {
  const context: Context = { ...deps, underWay: new Map(), owed: new Map() }
  const { underWay, changes, hold } = context
  const enter = (id: string): (() => void) => {
    underWay.set(id, (underWay.get(id) ?? 0) + 1)
    return () => {
      const left = (underWay.get(id) ?? 1) - 1
      if (left > 0) underWay.set(id, left)
      else underWay.delete(id)
    }
  }
  return {
    async enter(record, signal) {
      const wanted = {}
      const what = `waiting for ${record.kind} "${record.name}"`
      const instance =
        (await look(context, record.uid, wanted)) ??
        (await changes.until(record.uid, () => look(context, record.uid, wanted), {
          what,
          boundMs: patienceMs,
          signal,
        }))
      const take = async (): Promise<Held> => {
        const leave = enter(instance.id)
        try {
          const held = await hold(record, signal, instance)
          const release = (): void => {
            held.release()
            leave()
          }
          return { ...held, release }
        } catch (error) {
          leave()
          throw error
        }
      }
      return { ...(await take()), again: async () => (await take()).release }
    },
  }
}

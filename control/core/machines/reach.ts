/** From a record to a machine of its that answers, and that stays awake while it is used. */
import { fail } from '../../../shared/errors.ts'
import type { Changes } from '../transitions/changes.ts'
import type { Configurer } from './configure.ts'
import { isUp } from '../transitions/instance-life.ts'
import { wantedCount, type RulesByKind } from '../transitions/rules.ts'
import type { Address, Instance, Owner, Store } from '../store/store.ts'
import { historyOf } from './history.ts'
import type { Standby } from './standby/standby.ts'

/** A request is held this long for a record whose machine is still coming up. */
const patienceMs = 60_000

/** A machine that is awake until `release`. */
export interface Held {
  readonly instance: Instance
  /** Where its daemon answers. */
  readonly upstream: Address
  readonly release: () => void
}

export interface Reach {
  /**
   * Waits until a machine of the owner is up, wakes it, tells it what its record says by now, and keeps it awake until
   * `release`. `known` is an instance that was read for this very call. Throws `not_found` when the record does not exist
   * any more, `not_running` when it is in a
   * status without machines, `timed_out` after a minute.
   */
  hold(owner: Pick<Owner, 'uid' | 'kind' | 'name'>, signal: AbortSignal, known?: Instance): Promise<Held>
  /** Keeps a machine that is up awake until the returned function is called; undefined where that, or telling it something, takes a while. */
  holdNow(instance: Instance): (() => void) | undefined
}

interface Up {
  readonly instance: Instance
  readonly upstream: Address
}

/** The instance with where it answers, when it does. */
const upOf = (instance: Instance | undefined): Up | undefined =>
  instance?.address && isUp(instance) ? { instance, upstream: instance.address } : undefined

export const reach = (deps: {
  store: Store
  rules: RulesByKind
  changes: Changes
  standby: Standby
  configurer: Pick<Configurer, 'ensure' | 'isDue'>
  pokeOwner: (uid: string) => void
}): Reach => {
  const { store, rules, changes, standby, configurer, pokeOwner } = deps

  const look = async ({ uid, kind, name }: Pick<Owner, 'uid' | 'kind' | 'name'>): Promise<Up | undefined> => {
    const instances = await store.instances.ofOwner(uid)
    const up = instances.map(upOf).find(one => one !== undefined)
    if (up) return up
    const record = await store.resources.getByUid(uid)
    if (!record) throw fail('not_found', { kind, name })
    const workload = rules.get(kind)?.workload
    if (workload && wantedCount(workload, record) > 0) return undefined
    const last = historyOf(record, instances).errors.at(-1)
    throw fail('not_running', { kind, name, state: record.status, reason: last?.message ?? '' })
  }

  const untilUp = async (owner: Pick<Owner, 'uid' | 'kind' | 'name'>, signal: AbortSignal): Promise<Up> => {
    const there = await look(owner)
    if (there) return there
    pokeOwner(owner.uid)
    const what = `waiting for ${owner.kind} "${owner.name}"`
    return changes.until(owner.uid, () => look(owner), { what, boundMs: patienceMs, signal })
  }

  return {
    async hold(owner, signal, known) {
      const { instance, upstream } = upOf(known) ?? (await untilUp(owner, signal))
      const release = await standby.hold(instance.id)
      await configurer.ensure(instance)
      return { instance, upstream, release }
    },
    holdNow(instance) {
      const up = upOf(instance)
      // What has to be told is looked at by `hold`, which also waits for whoever tells it. One without a channel cannot be told.
      if (!up || (up.upstream.channel && configurer.isDue(instance))) return undefined
      return standby.holdAwake(instance.id)
    },
  }
}

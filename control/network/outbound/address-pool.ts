/** The addresses that the operator lets egress gateways leave from (`HUTCH_EGRESS_ADDRESSES`): each is given to one record at a time. */
import { networkInterfaces } from 'node:os'
import type { Clock } from '../../../shared/clock.ts'
import type { RulesByKind } from '../../core/transitions/rules.ts'
import type { Store } from '../../core/store/store.ts'

export interface AddressPool {
  /** One that this box has and nobody was given; undefined when there is none. */
  take(): Promise<string | undefined>
}

/** Until it is seen in a record: that is written right after. */
const reservedForMs = 30_000

const ofThisBox = (): ReadonlySet<string> =>
  new Set(Object.values(networkInterfaces()).flatMap(list => (list ?? []).map(({ address }) => address)))

const givenIn = async (store: Pick<Store, 'resources'>, rules: RulesByKind): Promise<Set<string>> => {
  const kinds = [...rules.values()].filter(({ gives }) => gives)
  const records = await Promise.all(kinds.map(({ kind }) => store.resources.everyOf(kind)))
  return new Set(records.flat().flatMap(record => rules.get(record.kind)?.gives?.(record)?.address ?? []))
}

/** `rulesOf` is asked late: the rules of kinds that take from the pool are made with it. */
export const addressPool = (
  addresses: readonly string[],
  deps: { store: Pick<Store, 'resources'>; clock: Clock; rulesOf: () => RulesByKind; own?: () => ReadonlySet<string> },
): AddressPool => {
  const { store, clock, rulesOf, own = ofThisBox } = deps
  const reserved = new Map<string, number>()
  return {
    async take() {
      const given = await givenIn(store, rulesOf())
      const here = own()
      const now = clock.elapsed()
      // Written down: when that goes, it is free.
      for (const address of given) reserved.delete(address)
      const free = addresses.find(
        address => here.has(address) && !given.has(address) && (reserved.get(address) ?? 0) <= now,
      )
      if (free !== undefined) reserved.set(free, now + reservedForMs)
      return free
    },
  }
}
